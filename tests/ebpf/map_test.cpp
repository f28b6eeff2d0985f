// Maps: what programs get (the kernel's results and error numbers), and what control gets.
#include <cerrno>
#include <set>

#include "tests/ebpf/sandbox.hpp"

namespace trama::ebpf {
namespace {

class OneMap {
 public:
  explicit OneMap(const MapSpec& spec, uint32_t replicas = 1) : sandbox_(object_of({}, {spec}), replicas) {}
  Map& operator*() { return (*sandbox_.maps)[0]; }
  Map* operator->() { return &(*sandbox_.maps)[0]; }
  Execution* execution() { return sandbox_.execution.get(); }

  int update(uint32_t key, uint64_t value, uint64_t flags = BPF_ANY) {
    return (**this).update(bytes_of(key).data(), bytes_of(value).data(), flags, execution());
  }
  int erase(uint32_t key) { return (**this).erase(bytes_of(key).data(), execution()); }
  // -1: it isn't there.
  int64_t lookup(uint32_t key) {
    const uint8_t* const found = (**this).lookup(bytes_of(key).data(), execution());
    uint64_t value;
    if (!found) return -1;
    std::memcpy(&value, found, sizeof value);
    return static_cast<int64_t>(value);
  }
  std::map<uint32_t, uint64_t> all() {  // of the first copy
    std::map<uint32_t, uint64_t> entries;
    (**this).for_each([&entries](const MapEntry& entry) {
      uint32_t key;
      uint64_t value;
      std::memcpy(&key, entry.key.data(), sizeof key);
      std::memcpy(&value, entry.value.data(), sizeof value);
      entries[key] = value;
    });
    return entries;
  }

 private:
  Sandbox sandbox_;
};

TEST(ArrayMap, IsThereAndZero) {
  OneMap map(map_spec("a", BPF_MAP_TYPE_ARRAY, 4, 8, 3));
  EXPECT_EQ(map.lookup(0), 0);
  EXPECT_EQ(map.lookup(2), 0);
  EXPECT_EQ(map.lookup(3), -1);
  EXPECT_EQ(map.update(1, 77), 0);
  EXPECT_EQ(map.update(1, 78, BPF_EXIST), 0);
  EXPECT_EQ(map.update(1, 79, BPF_NOEXIST), -EEXIST);
  EXPECT_EQ(map.update(3, 1), -E2BIG);
  EXPECT_EQ(map.update(1, 1, 77), -EINVAL);
  EXPECT_EQ(map.erase(1), -EINVAL);
  EXPECT_EQ(map.all(), (std::map<uint32_t, uint64_t>{{0, 0}, {1, 78}, {2, 0}}));
}

TEST(ArrayMap, ValuesAreApartByEightBytes) {
  OneMap map(map_spec("a", BPF_MAP_TYPE_ARRAY, 4, 5, 3));
  EXPECT_EQ(map->layout().stride, 8u);
  const uint8_t* const first = map->lookup(bytes_of(0u).data(), map.execution());
  const uint8_t* const second = map->lookup(bytes_of(1u).data(), map.execution());
  EXPECT_EQ(second - first, 8);
}

TEST(ArrayMap, OnePerCpuHasItsOwnCopy) {
  OneMap map(map_spec("a", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 2), 3);
  map.execution()->cpu = 2;
  EXPECT_EQ(map.update(1, 5), 0);
  EXPECT_EQ(map.lookup(1), 5);
  map.execution()->cpu = 0;
  EXPECT_EQ(map.lookup(1), 0);
  const auto copies = map->read(bytes_of(1u));
  ASSERT_TRUE(copies);
  ASSERT_EQ(copies->size(), 24u);
  EXPECT_EQ((*copies)[16], 5);
  // Control: one value for all copies, or each its own.
  ASSERT_TRUE(map->set(bytes_of(0u), bytes_of(uint64_t{9})));
  EXPECT_EQ(map.lookup(0), 9);
  ASSERT_TRUE(map->set(bytes_of(0u), bytes_of(std::array<uint64_t, 3>{1, 2, 3})));
  map.execution()->cpu = 2;
  EXPECT_EQ(map.lookup(0), 3);
}

TEST(ArrayMap, ControlIsToldWhatIsWrong) {
  OneMap map(map_spec("a", BPF_MAP_TYPE_ARRAY, 4, 8, 2));
  EXPECT_FALSE(map->set(bytes_of(uint64_t{0}), bytes_of(uint64_t{0})));
  EXPECT_FALSE(map->set(bytes_of(0u), bytes_of(0u)));
  EXPECT_FALSE(map->set(bytes_of(2u), bytes_of(uint64_t{0})));
  EXPECT_FALSE(map->read(bytes_of(2u)));
  EXPECT_FALSE(map->remove(bytes_of(0u)));
}

class HashMapTest : public testing::TestWithParam<uint32_t> {};

TEST_P(HashMapTest, KeepsTheKernelsRules) {
  OneMap map(map_spec("h", GetParam(), 4, 8, 4));
  EXPECT_EQ(map.lookup(1), -1);
  EXPECT_EQ(map.update(1, 10, BPF_EXIST), -ENOENT);
  EXPECT_EQ(map.update(1, 10), 0);
  EXPECT_EQ(map.update(1, 11, BPF_NOEXIST), -EEXIST);
  EXPECT_EQ(map.lookup(1), 10);
  EXPECT_EQ(map.update(1, 12, BPF_EXIST), 0);
  EXPECT_EQ(map.update(2, 20, BPF_NOEXIST), 0);
  EXPECT_EQ(map.update(3, 30, 9), -EINVAL);
  EXPECT_EQ(map.erase(3), -ENOENT);
  EXPECT_EQ(map.all(), (std::map<uint32_t, uint64_t>{{1, 12}, {2, 20}}));
  EXPECT_EQ(map.erase(1), 0);
  EXPECT_EQ(map.lookup(1), -1);
  EXPECT_EQ(map.lookup(2), 20);
}

// Against std::map, with every key size that has a lookup of its own.
TEST_P(HashMapTest, AgreesWithAnOrderedMap) {
  constexpr uint32_t kEntries = 50;
  for (const uint32_t key_size : {1u, 2u, 3u, 4u, 7u, 8u, 16u, 20u}) {
    SCOPED_TRACE(key_size);
    OneMap map(map_spec("h", GetParam(), key_size, 8, kEntries));
    std::map<std::vector<uint8_t>, uint64_t> expected;
    uint32_t random = 12345;
    for (uint64_t round = 1; round < 4000; ++round) {
      random = random * 1664525 + 1013904223;
      std::vector<uint8_t> key(key_size);
      key[0] = static_cast<uint8_t>((random >> 24) % 70);
      if (key_size > 1) key[key_size - 1] ^= static_cast<uint8_t>(round % 3 == 0 ? 0x80 : 0);
      if ((random >> 8) % 3 == 0) {
        EXPECT_EQ(map->erase(key.data(), map.execution()), expected.erase(key) != 0 ? 0 : -ENOENT);
      } else {
        const bool fits = expected.size() < kEntries || expected.contains(key);
        EXPECT_EQ(map->update(key.data(), bytes_of(round).data(), BPF_ANY, map.execution()), fits ? 0 : -E2BIG);
        if (fits) expected[key] = round;
      }
    }
    size_t entries = 0;
    map->for_each([&](const MapEntry& entry) {
      ++entries;
      EXPECT_EQ(entry.value, bytes_of(expected.at(entry.key)));
      const uint8_t* const found = map->lookup(entry.key.data(), map.execution());
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(std::memcmp(found, entry.value.data(), 8), 0);
    });
    EXPECT_EQ(entries, expected.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Types, HashMapTest, testing::Values(BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_PERCPU_HASH));

TEST(HashMap, AnUpdateLeavesTheOldValueToWhoHoldsIt) {
  OneMap map(map_spec("h", BPF_MAP_TYPE_HASH, 4, 8, 1));
  EXPECT_EQ(map.update(1, 10), 0);
  const uint8_t* const held = map->lookup(bytes_of(1u).data(), map.execution());
  EXPECT_EQ(map.update(1, 11), 0);
  EXPECT_EQ(*held, 10);
  EXPECT_EQ(map.lookup(1), 11);
}

TEST(HashMap, PerCpuAnUpdateWritesTheOwnCopyInPlace) {
  OneMap map(map_spec("h", BPF_MAP_TYPE_PERCPU_HASH, 4, 8, 4), 2);
  map.execution()->cpu = 1;
  EXPECT_EQ(map.update(7, 10), 0);
  const uint8_t* const held = map->lookup(bytes_of(7u).data(), map.execution());
  EXPECT_EQ(map.update(7, 11), 0);
  EXPECT_EQ(*held, 11);
  map.execution()->cpu = 0;
  EXPECT_EQ(map.lookup(7), 0);
}

TEST(HashMap, ControlAndProgramsSeeTheSame) {
  OneMap map(map_spec("h", BPF_MAP_TYPE_HASH, 4, 8, 2));
  ASSERT_TRUE(map->set(bytes_of(1u), bytes_of(uint64_t{5})));
  EXPECT_EQ(map.lookup(1), 5);
  EXPECT_FALSE(map->set(bytes_of(1u), bytes_of(uint64_t{5}), BPF_NOEXIST));
  EXPECT_FALSE(map->set(bytes_of(2u), bytes_of(uint64_t{5}), BPF_EXIST));
  EXPECT_EQ(map.update(2, 6), 0);
  EXPECT_FALSE(map->set(bytes_of(3u), bytes_of(uint64_t{5})));
  EXPECT_EQ(map->read(bytes_of(2u)), bytes_of(uint64_t{6}));
  ASSERT_TRUE(map->remove(bytes_of(2u)));
  EXPECT_FALSE(map->remove(bytes_of(2u)));
  EXPECT_EQ(map.lookup(2), -1);
}

// What control takes away rests until no batch can see it; that must not make the map smaller.
TEST(HashMap, RoomThatControlFreedComesBack) {
  OneMap map(map_spec("h", BPF_MAP_TYPE_HASH, 4, 8, 3));
  for (uint32_t round = 0; round < 1000; ++round) {
    for (uint32_t key = 0; key < 3; ++key) ASSERT_TRUE(map->set(bytes_of(round + key), bytes_of(uint64_t{round})));
    for (uint32_t key = 0; key < 3; ++key) ASSERT_TRUE(map->remove(bytes_of(round + key)));
  }
  EXPECT_TRUE(map.all().empty());
}

TEST(LruHashMap, EvictsWhatWasNotUsed) {
  for (const uint32_t type : {uint32_t{BPF_MAP_TYPE_LRU_HASH}, uint32_t{BPF_MAP_TYPE_LRU_PERCPU_HASH}}) {
    OneMap map(map_spec("l", type, 4, 8, 8));
    for (uint32_t key = 0; key < 100; ++key) {
      EXPECT_EQ(map.update(key, key), 0);
      EXPECT_EQ(map.lookup(0), 0) << "the one that is always looked up stays, after " << key;
      EXPECT_TRUE(map->read(bytes_of(key))) << "so does the newest";
    }
    EXPECT_EQ(map.all().size(), 8u);
    EXPECT_EQ(map.update(99, 1, BPF_NOEXIST), -EEXIST);
    EXPECT_EQ(map.erase(99), 0);
    EXPECT_EQ(map.all().size(), 7u);
  }
}

TEST(ProgramArray, HoldsNumbersOfPrograms) {
  MapSpec spec = map_spec("p", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4);
  spec.program_slots = {-1, 7};
  OneMap map(spec);
  EXPECT_EQ(slot_value(*map, 0), -1);
  EXPECT_EQ(slot_value(*map, 1), 7);
  EXPECT_EQ(slot_value(*map, 3), -1);
  EXPECT_EQ(slot_value(*map, 4), -1);
  ASSERT_TRUE(set_program(*map, 3, 0));
  EXPECT_EQ(slot_value(*map, 3), 0);
  ASSERT_TRUE(set_program(*map, 3, -1));
  EXPECT_EQ(slot_value(*map, 3), -1);
  EXPECT_FALSE(set_program(*map, 4, 0));
  EXPECT_EQ(map->lookup_function(), nullptr);
}

TEST(Maps, AreRefusedWithTheirName) {
  const struct {
    const char* what;
    MapSpec spec;
  } rows[] = {
      {"type", map_spec("bad_map", BPF_MAP_TYPE_STACK_TRACE, 4, 8, 4)},
      {"no such type", map_spec("bad_map", 9999, 4, 8, 4)},
      {"map of maps", map_spec("bad_map", BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, 4)},
      {"key of an array", map_spec("bad_map", BPF_MAP_TYPE_ARRAY, 8, 8, 4)},
      {"no value", map_spec("bad_map", BPF_MAP_TYPE_ARRAY, 4, 0, 4)},
      {"no entries", map_spec("bad_map", BPF_MAP_TYPE_HASH, 4, 8, 0)},
      {"no key", map_spec("bad_map", BPF_MAP_TYPE_HASH, 0, 8, 4)},
      {"memory", map_spec("bad_map", BPF_MAP_TYPE_HASH, 4, 1 << 20, 1 << 20)},
      {"more memory", map_spec("bad_map", BPF_MAP_TYPE_ARRAY, 4, 0xffffffff, 0xffffffff)},
      {"all memory", map_spec("bad_map", BPF_MAP_TYPE_LPM_TRIE, 8, 4, 0xffffffff)},
      {"prefix of nothing", map_spec("bad_map", BPF_MAP_TYPE_LPM_TRIE, 4, 4, 4)},
      {"prefix of 17 bytes", map_spec("bad_map", BPF_MAP_TYPE_LPM_TRIE, 21, 4, 4)},
      {"program array of 8", map_spec("bad_map", BPF_MAP_TYPE_PROG_ARRAY, 4, 8, 4)},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    const auto maps = Maps::create(object_of({}, {row.spec}), 1);
    ASSERT_FALSE(maps);
    EXPECT_NE(maps.error().text.find("bad_map"), std::string::npos) << maps.error().text;
  }
}

TEST(Maps, InitialValuesOfSectionsAreThere) {
  MapSpec spec = map_spec(".rodata", BPF_MAP_TYPE_ARRAY, 4, 4, 1);
  spec.section = Section::rodata;
  spec.initial_value = {1, 2, 3, 4};
  OneMap map(spec);
  EXPECT_EQ(map->read(bytes_of(0u)), spec.initial_value);
  EXPECT_FALSE(map->layout().writable);
}

}  // namespace
}  // namespace trama::ebpf
