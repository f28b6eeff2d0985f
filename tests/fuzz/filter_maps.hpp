// The maps of every program that the fuzz target of filter programs makes, by number.
#pragma once
#include <linux/bpf.h>

#include <cstdint>
#include <vector>

#include "ebpf/object.hpp"

namespace trama::ebpf {

constexpr int32_t kArray = 0, kOwnArray = 1, kLpm = 2, kPrograms = 3, kRing = 4, kSingle = 5, kConstants = 6,
                  kEvents = 7, kSockets = 8;
constexpr int32_t kMaps = 9;
constexpr int kValueBytes[kMaps] = {20, 16, 8, 4, 0, 40, 24, 4, 4};

inline std::vector<MapSpec> fuzz_maps() {
  std::vector<MapSpec> maps;
  const auto add = [&maps](const char* name, uint32_t type, uint32_t key, uint32_t entries) {
    MapSpec made;
    made.name = name;
    made.type = type;
    made.key_size = key;
    made.value_size = static_cast<uint32_t>(kValueBytes[maps.size()]);
    made.max_entries = entries;
    maps.push_back(made);
  };
  add("array", BPF_MAP_TYPE_ARRAY, 4, 4);
  add("own_array", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 3);
  add("prefixes", BPF_MAP_TYPE_LPM_TRIE, 8, 16);
  add("programs", BPF_MAP_TYPE_PROG_ARRAY, 4, 4);
  add("ring", BPF_MAP_TYPE_RINGBUF, 0, 4096);
  add("single", BPF_MAP_TYPE_ARRAY, 4, 1);
  add(".rodata", BPF_MAP_TYPE_ARRAY, 4, 1);
  add("events", BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4);
  add("sockets", BPF_MAP_TYPE_XSKMAP, 4, 4);
  maps[kPrograms].program_slots = {0, 1, 7};
  maps[kConstants].section = Section::rodata;
  return maps;
}

}  // namespace trama::ebpf
