// Privacy ranges for the maps of a module: set_ranges() of map_entries.hpp.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "ebpf/address_text.hpp"
#include "ebpf/lpm_table.hpp"
#include "ebpf/map_entries.hpp"
#include "ebpf/trama_filter.h"

namespace trama::ebpf {
namespace {

std::vector<uint8_t> bytes_of_sides(uint32_t sides) {
  std::vector<uint8_t> bytes(sizeof sides);
  std::memcpy(bytes.data(), &sides, sizeof sides);
  return bytes;
}

struct SidedRange {
  Cidr cidr;
  uint32_t sides = 0;

  LpmPrefix prefix() const { return {cidr.address.bytes, cidr.length, 0}; }
};

Expected<SidedRange> range_of(std::string_view text) {
  constexpr std::pair<std::string_view, uint32_t> kSides[] = {
      {"either", TRAMA_EITHER}, {"both", TRAMA_BOTH}, {"source", TRAMA_SOURCE}, {"destination", TRAMA_DESTINATION}};
  const size_t colon = text.rfind(':');
  const auto cidr = cidr_of(text.substr(0, colon));
  if (!cidr) return tl::unexpected(cidr.error());
  for (const auto& [name, sides] : kSides)
    if (colon != std::string_view::npos && text.substr(colon + 1) == name) return SidedRange{*cidr, sides};
  return refuse("the side of a range is either, both, source or destination");
}

// Sorted by address and length every range stands behind those that contain it, which are a stack.
std::vector<Prefix> with_outer_sides(std::vector<SidedRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const SidedRange& a, const SidedRange& b) { return stands_before(a.prefix(), b.prefix()); });
  std::vector<Prefix> prefixes;
  prefixes.reserve(ranges.size());
  std::vector<SidedRange> around;
  for (SidedRange range : ranges) {
    while (!around.empty() && !contains(around.back().cidr, range.cidr)) around.pop_back();
    if (!around.empty()) range.sides |= around.back().sides;
    around.push_back(range);
    prefixes.push_back({lpm_key(range.cidr), bytes_of_sides(range.sides)});
  }
  return prefixes;
}

Expected<void> set_list(Maps& maps, const char* name, size_t key_size, const std::vector<SidedRange>& ranges) {
  const Map* const map = maps.find(name);
  if (!map || map->spec().type != BPF_MAP_TYPE_LPM_TRIE || map->spec().key_size != key_size ||
      map->spec().value_size != sizeof(uint32_t))
    return refuse(std::string("the object has no map ") + name + " that ranges can be written to",
                  "ranges are for modules with the maps of privacy_ranges.bpf.c; others take their maps as text");
  if (const auto set = maps.replace(map->index(), with_outer_sides(ranges)); !set) return tl::unexpected(set.error());
  return {};
}

}  // namespace

Expected<void> set_ranges(Maps& maps, std::span<const std::string> ranges) {
  std::vector<SidedRange> v4, v6;
  for (size_t at = 0; at < ranges.size(); ++at) {
    auto range = range_of(ranges[at]);
    if (!range) {
      range.error().text = "range " + std::to_string(at + 1) + ": " + range.error().text;
      return tl::unexpected(range.error());
    }
    (range->cidr.address.size == 4 ? v4 : v6).push_back(*range);
  }
  if (auto set = set_list(maps, "ranges_v4", sizeof(trama_prefix_v4), v4); !set) return set;
  return set_list(maps, "ranges_v6", sizeof(trama_prefix_v6), v6);
}

}  // namespace trama::ebpf
