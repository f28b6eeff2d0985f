#include "tests/ebpf/random_program.hpp"

#include <gtest/gtest.h>

#include "tests/ebpf/random_code.hpp"
#include "tests/ebpf/sandbox.hpp"

namespace trama::ebpf {

Object random_object(Random& random, Care care) {
  constexpr int kMostPrograms = 3;
  const int programs = 1 + static_cast<int>(random() % kMostPrograms);
  std::vector<std::vector<bpf_insn>> codes;
  for (int index = 0; index < programs; ++index) codes.push_back(RandomCode(random, index, programs, care).make());
  MapSpec slots = map_spec("programs", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, kMostPrograms + 1);
  for (int index = 0; index < programs; ++index) slots.program_slots.push_back(index);
  MapSpec prefixes = map_spec("prefixes", BPF_MAP_TYPE_LPM_TRIE, 8, 8, 16);
  prefixes.flags = BPF_F_NO_PREALLOC;
  return object_of(std::move(codes), {map_spec("array", BPF_MAP_TYPE_ARRAY, 4, 24, 4),
                                      map_spec("own_array", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 16, 4),
                                      map_spec("hash", BPF_MAP_TYPE_HASH, 8, 16, 4), prefixes, slots,
                                      map_spec("single", BPF_MAP_TYPE_ARRAY, 4, 32, 1)});
}

void fill_maps(const Object& object, Maps& maps, Random& random) {
  const auto bytes = [&random](uint32_t count) {
    std::vector<uint8_t> made(count);
    for (uint8_t& byte : made) byte = static_cast<uint8_t>(random() % 3 == 0 ? random() : random() % 4);
    return made;
  };
  for (uint32_t map = 0; map < object.maps.size(); ++map) {
    const MapSpec& spec = object.maps[map];
    if (spec.type == BPF_MAP_TYPE_PROG_ARRAY || spec.type == BPF_MAP_TYPE_LPM_TRIE) continue;
    for (uint32_t key = 0; key < spec.max_entries; ++key) {
      std::vector<uint8_t> key_bytes(spec.key_size);
      std::memcpy(key_bytes.data(), &key, sizeof key);
      if (spec.type == BPF_MAP_TYPE_HASH && random() % 2 == 0) continue;
      EXPECT_TRUE(maps[map].set(key_bytes, bytes(spec.value_size)));
    }
  }
  std::vector<Prefix> prefixes;
  for (const uint32_t length : {0u, 7u, 8u, 16u, 24u, 31u, 32u}) {
    if (random() % 3 == 0) continue;
    const uint32_t address =
        0x0a + (static_cast<uint32_t>(random() % 4) << 8) + (static_cast<uint32_t>(random()) << 16);
    std::vector<uint8_t> key(8);
    std::memcpy(key.data(), &length, sizeof length);
    std::memcpy(key.data() + 4, &address, sizeof address);
    prefixes.push_back({key, bytes(object.maps[kLpm].value_size)});
  }
  EXPECT_TRUE(maps.replace(kLpm, prefixes));
}

std::vector<uint8_t> random_packet(Random& random) {
  constexpr size_t kLeast = 14, kMost = 128;
  std::vector<uint8_t> packet(kLeast + random() % (kMost - kLeast + 1));
  for (uint8_t& byte : packet) byte = static_cast<uint8_t>(random() % 3 == 0 ? random() : random() % 40);
  return packet;
}

}  // namespace trama::ebpf
