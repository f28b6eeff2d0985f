#include "ebpf/unfilled_maps.hpp"

#include <algorithm>

namespace trama::ebpf {
namespace {

bool is_hash(uint32_t type) {
  return type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_LRU_HASH ||
         type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}
bool is_array(uint32_t type) {
  return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PROG_ARRAY;
}

// Given to a helper, by the program or, where it makes tail calls, by any of the object.
bool is_used(const FilterModule& module, uint32_t map) {
  const auto uses = [map](const Facts& facts) {
    return std::any_of(facts.instructions.begin(), facts.instructions.end(), [map](const InstructionFacts& one) {
      return one.reached && one.map == static_cast<int32_t>(map);
    });
  };
  const std::vector<Facts>& programs = module.analysis().programs;
  if (module.properties().tail_calls) return std::any_of(programs.begin(), programs.end(), uses);
  return uses(programs[module.program()]);
}

bool is_for_control(const FilterModule& module, const Map& map) {
  constexpr uint32_t kMaps = 64;  // of which properties tell
  const MapSpec& spec = map.spec();
  const Properties& does = module.properties();
  const uint64_t written = does.written_maps | does.counting_maps | does.own_written_maps;
  if (spec.section != Section::none || map.index() >= kMaps || (written >> map.index() & 1) != 0) return false;
  if (is_hash(spec.type) && does.changes_keys) return false;
  return (is_hash(spec.type) || is_array(spec.type) || spec.type == BPF_MAP_TYPE_LPM_TRIE) &&
         is_used(module, map.index());
}

bool has_anything(const Map& map) {
  bool any = false;
  map.for_each([&](const MapEntry& entry) {
    any = any || !is_array(map.spec().type) ||
          std::any_of(entry.value.begin(), entry.value.end(), [](uint8_t byte) { return byte != 0; });
  });
  return any;
}

}  // namespace

std::vector<std::string> unfilled_maps(const FilterModule& module) {
  std::vector<std::string> names;
  for (uint32_t index = 0; index < module.maps().size(); ++index) {
    const Map& map = module.maps()[index];
    if (!is_for_control(module, map)) continue;
    if (has_anything(map)) return {};
    names.push_back(map.spec().name);
  }
  return names;
}

}  // namespace trama::ebpf
