#include "ebpf/kernel_maps.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>

#include "ebpf/instruction.hpp"

namespace trama::ebpf {
namespace {

uint64_t maps_named(const Program& program) {
  uint64_t named = 0;
  for (size_t at = 0; at < program.code.size(); ++at) {
    const bpf_insn& instruction = program.code[at];
    if (instruction.code != kWideLoad) continue;
    if (instruction.src_reg == BPF_PSEUDO_MAP_IDX || instruction.src_reg == BPF_PSEUDO_MAP_IDX_VALUE)
      named |= uint64_t{1} << static_cast<uint32_t>(instruction.imm);
    ++at;  // its second half
  }
  return named;
}

bool per_processor(const MapSpec& spec) {
  return spec.type == BPF_MAP_TYPE_PERCPU_ARRAY || spec.type == BPF_MAP_TYPE_PERCPU_HASH ||
         spec.type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

bool is_array(const MapSpec& spec) { return spec.type == BPF_MAP_TYPE_ARRAY || spec.type == BPF_MAP_TYPE_PERCPU_ARRAY; }

// The kernel takes letters, digits, underscores and dots; libbpf cuts the name short.
std::string kernel_name(std::string name) {
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '.') letter = '_';
  return name;
}

tl::unexpected<Refusal> kernel_refuses(const MapSpec& spec, const char* what, int error) {
  return refuse("the kernel refuses " + std::string(what) + " map " + spec.name + ": " + std::strerror(error));
}

// A map per CPU takes values for all processors at once, 8 bytes aligned.
class ValueForKernel {
 public:
  explicit ValueForKernel(const MapSpec& spec)
      : value_size_(spec.value_size),
        stride_((spec.value_size + 7) & ~size_t{7}),
        bytes_(per_processor(spec) ? stride_ * static_cast<size_t>(libbpf_num_possible_cpus()) : spec.value_size) {}

  const uint8_t* of(const std::vector<uint8_t>& value) {
    for (size_t place = 0; place < bytes_.size(); place += stride_)
      std::memcpy(bytes_.data() + place, value.data(), value_size_);
    return bytes_.data();
  }

 private:
  size_t value_size_, stride_;
  std::vector<uint8_t> bytes_;
};

Expected<void> fill(const Map& map, int descriptor) {
  ValueForKernel value(map.spec());
  int error = 0;
  map.for_each([&](const MapEntry& entry) {
    const auto first_copy = std::span(entry.value).first(map.spec().value_size);
    const bool zero = std::all_of(first_copy.begin(), first_copy.end(), [](uint8_t byte) { return byte == 0; });
    if (error != 0 || (zero && is_array(map.spec()))) return;  // arrays begin as zeros
    if (bpf_map_update_elem(descriptor, entry.key.data(), value.of(entry.value), BPF_ANY) != 0) error = errno;
  });
  if (error != 0) return kernel_refuses(map.spec(), "what is in", error);
  return {};
}

// There are no sockets in user space that a slot could stand for.
Expected<void> check_socket_slots(const Map& map) {
  bool taken = false;
  map.for_each([&taken](const MapEntry&) { taken = true; });
  if (taken) return refuse("map " + map.spec().name + " has slots that are taken, and no socket is behind them");
  return {};
}

Expected<Descriptor> make(const Map& map) {
  const MapSpec& spec = map.spec();
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = spec.flags);
  Descriptor made(bpf_map_create(static_cast<bpf_map_type>(spec.type), kernel_name(spec.name).c_str(), spec.key_size,
                                 spec.value_size, spec.max_entries, &options));
  if (!made) return kernel_refuses(spec, "to make", errno);
  if (spec.type == BPF_MAP_TYPE_PROG_ARRAY) return made;
  if (spec.type == BPF_MAP_TYPE_XSKMAP) {
    if (auto empty = check_socket_slots(map); !empty) return tl::unexpected(empty.error());
    return made;
  }
  if (auto filled = fill(map, made.number()); !filled) return tl::unexpected(filled.error());
  // Frozen, its content is known to the kernel's verifier.
  if (spec.section == Section::rodata && bpf_map_freeze(made.number()) != 0)
    return kernel_refuses(spec, "to freeze", errno);
  return made;
}

// Maps that programs count into. Lists of prefixes and programs are replaced as a whole.
bool goes_on(const FilterModule& module, uint32_t map) {
  const Properties& properties = module.properties();
  const uint64_t written = properties.own_written_maps | properties.counting_maps | properties.written_maps;
  const uint32_t type = module.object().maps[map].type;
  return (written >> map & 1) != 0 && type != BPF_MAP_TYPE_LPM_TRIE && type != BPF_MAP_TYPE_PROG_ARRAY;
}

}  // namespace

std::vector<uint32_t> tail_called_programs(const FilterModule& module) {
  if (!module.properties().tail_calls) return {};
  std::set<uint32_t> programs;
  for (uint32_t map = 0; map < module.maps().size(); ++map) {
    const Map& slots = module.maps()[map];
    if (slots.spec().type != BPF_MAP_TYPE_PROG_ARRAY) continue;
    for (uint32_t slot = 0; slot < slots.spec().max_entries; ++slot)
      if (const int64_t program = slot_value(slots, slot);
          program >= 0 && program < static_cast<int64_t>(module.object().programs.size()))
        programs.insert(static_cast<uint32_t>(program));
  }
  return {programs.begin(), programs.end()};
}

uint64_t maps_in_use(const FilterModule& module) {
  uint64_t used = maps_named(module.entry());
  for (const uint32_t program : tail_called_programs(module)) used |= maps_named(module.object().programs[program]);
  return used;
}

Expected<KernelMaps> KernelMaps::create(const FilterModule& module, const KernelMaps* before) {
  const uint64_t used = maps_in_use(module);
  KernelMaps made;
  made.maps_.resize(module.maps().size());
  for (uint32_t map = 0; map < module.maps().size(); ++map) {
    if ((used >> map & 1) == 0) continue;
    if (before && before->maps_[map] && goes_on(module, map)) {
      made.maps_[map] = before->maps_[map];
      continue;
    }
    auto one = make(module.maps()[map]);
    if (!one) {
      one.error().text = module.object().name + ": " + one.error().text;
      return tl::unexpected(one.error());
    }
    made.maps_[map] = std::make_shared<Descriptor>(std::move(*one));
  }
  return made;
}

}  // namespace trama::ebpf
