// Longest prefix match: byte order, edges, and agreement with a plain search; lists that are replaced while they are
// read.
#include <arpa/inet.h>

#include <atomic>
#include <random>
#include <thread>

#include "ebpf/lpm_table.hpp"
#include "tests/ebpf/sandbox.hpp"

namespace trama::ebpf {
namespace {

// "10.0.0.0/8" or "2001:db8::/32" as a key of an LPM map.
std::vector<uint8_t> key_of(const std::string& text) {
  const size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  const bool six = address.find(':') != std::string::npos;
  std::vector<uint8_t> key(six ? 20 : 8);
  const uint32_t length =
      slash == std::string::npos ? (six ? 128 : 32) : static_cast<uint32_t>(std::stoul(text.substr(slash + 1)));
  std::memcpy(key.data(), &length, sizeof length);
  EXPECT_EQ(::inet_pton(six ? AF_INET6 : AF_INET, address.c_str(), key.data() + 4), 1) << text;
  return key;
}

class LpmFixture {
 public:
  explicit LpmFixture(uint32_t key_size = 8, uint32_t max_entries = 100)
      : sandbox(object_of({}, {map_spec("ranges", BPF_MAP_TYPE_LPM_TRIE, key_size, 4, max_entries)})) {}
  Map& map() { return (*sandbox.maps)[0]; }

  Expected<GenerationPtr> replace(const std::vector<std::pair<std::string, uint32_t>>& list) {
    std::vector<Prefix> prefixes;
    for (const auto& [text, value] : list) prefixes.push_back({key_of(text), bytes_of(value)});
    return sandbox.maps->replace(0, prefixes);
  }
  // What a program finds; 0: nothing.
  uint32_t find(const std::string& key) {
    sandbox.maps->begin_batch(*sandbox.execution);
    const uint8_t* const found = map().lookup(key_of(key).data(), sandbox.execution.get());
    uint32_t value = 0;
    if (found) std::memcpy(&value, found, sizeof value);
    sandbox.maps->end_batch(*sandbox.execution);
    return value;
  }

  Sandbox sandbox;
};

TEST(Lpm, BytesAreInNetworkOrder) {
  LpmFixture lpm;
  ASSERT_TRUE(lpm.replace({{"10.0.0.0/8", 1}}));
  EXPECT_EQ(lpm.find("10.1.2.3"), 1u);
  EXPECT_EQ(lpm.find("10.255.255.255"), 1u);
  EXPECT_EQ(lpm.find("3.2.1.10"), 0u);
  EXPECT_EQ(lpm.find("0.0.0.10"), 0u);
  EXPECT_EQ(lpm.find("11.0.0.0"), 0u);
  EXPECT_EQ(lpm.find("9.255.255.255"), 0u);
}

TEST(Lpm, NestedAndExtremeLengths) {
  LpmFixture lpm;
  ASSERT_TRUE(lpm.replace({{"0.0.0.0/0", 1},
                           {"10.0.0.0/8", 2},
                           {"10.1.0.0/16", 3},
                           {"10.1.2.0/24", 4},
                           {"10.1.2.2/31", 5},
                           {"10.1.2.3/32", 6},
                           {"10.1.2.128/25", 7},
                           {"128.0.0.0/1", 8},
                           {"10.1.0.0/17", 9},
                           {"255.255.255.255/32", 10}}));
  EXPECT_EQ(lpm.find("1.2.3.4"), 1u);
  EXPECT_EQ(lpm.find("10.200.0.1"), 2u);
  EXPECT_EQ(lpm.find("10.1.200.1"), 3u);
  EXPECT_EQ(lpm.find("10.1.3.1"), 9u);
  EXPECT_EQ(lpm.find("10.1.2.1"), 4u);
  EXPECT_EQ(lpm.find("10.1.2.2"), 5u);
  EXPECT_EQ(lpm.find("10.1.2.3"), 6u);
  EXPECT_EQ(lpm.find("10.1.2.4"), 4u);
  EXPECT_EQ(lpm.find("10.1.2.129"), 7u);
  EXPECT_EQ(lpm.find("200.0.0.1"), 8u);
  EXPECT_EQ(lpm.find("255.255.255.255"), 10u);
  EXPECT_EQ(lpm.find("255.255.255.254"), 8u);
}

TEST(Lpm, BitsBehindTheLengthDontCount) {
  LpmFixture lpm;
  ASSERT_TRUE(lpm.replace({{"10.1.2.3/8", 1}}));
  EXPECT_EQ(lpm.find("10.200.0.0"), 1u);
  EXPECT_TRUE(lpm.map().read(key_of("10.9.9.9/8")));
  EXPECT_FALSE(lpm.map().read(key_of("10.0.0.0/9")));
}

// As in the kernel: a lookup with a shorter length finds only prefixes that are not longer than it.
TEST(Lpm, LookupsWithAShorterLength) {
  LpmFixture lpm;
  ASSERT_TRUE(lpm.replace({{"10.0.0.0/8", 1}, {"10.1.0.0/16", 2}, {"10.1.2.0/24", 3}}));
  EXPECT_EQ(lpm.find("10.1.2.3/24"), 3u);
  EXPECT_EQ(lpm.find("10.1.2.3/23"), 2u);
  EXPECT_EQ(lpm.find("10.1.2.3/16"), 2u);
  EXPECT_EQ(lpm.find("10.1.2.3/15"), 1u);
  EXPECT_EQ(lpm.find("10.1.2.3/7"), 0u);
  EXPECT_EQ(lpm.find("10.1.2.3/33"), 0u);
}

TEST(Lpm, SixteenBytes) {
  LpmFixture lpm(20);
  ASSERT_TRUE(lpm.replace(
      {{"2001:db8::/32", 1}, {"2001:db8:1::/48", 2}, {"2001:db8:1::1/128", 3}, {"fe80::/10", 4}, {"::/0", 5}}));
  EXPECT_EQ(lpm.find("2001:db8:ffff::1"), 1u);
  EXPECT_EQ(lpm.find("2001:db8:1::2"), 2u);
  EXPECT_EQ(lpm.find("2001:db8:1::1"), 3u);
  EXPECT_EQ(lpm.find("febf::1"), 4u);
  EXPECT_EQ(lpm.find("fec0::1"), 5u);
}

TEST(Lpm, ControlChangesSinglePrefixes) {
  LpmFixture lpm(8, 2);
  EXPECT_EQ(lpm.find("10.1.2.3"), 0u) << "an empty list";
  ASSERT_TRUE(lpm.map().set(key_of("10.0.0.0/8"), bytes_of(1u)));
  ASSERT_TRUE(lpm.map().set(key_of("10.1.0.0/16"), bytes_of(2u)));
  EXPECT_EQ(lpm.find("10.1.2.3"), 2u);
  EXPECT_FALSE(lpm.map().set(key_of("11.0.0.0/8"), bytes_of(3u))) << "full";
  EXPECT_FALSE(lpm.map().set(key_of("10.0.0.0/8"), bytes_of(3u), BPF_NOEXIST));
  ASSERT_TRUE(lpm.map().set(key_of("10.0.0.0/8"), bytes_of(4u), BPF_EXIST));
  ASSERT_TRUE(lpm.map().remove(key_of("10.1.0.0/16")));
  EXPECT_FALSE(lpm.map().remove(key_of("10.1.0.0/16")));
  EXPECT_EQ(lpm.find("10.1.2.3"), 4u);
  size_t entries = 0;
  lpm.map().for_each([&](const MapEntry& entry) {
    ++entries;
    EXPECT_EQ(entry.key, key_of("10.0.0.0/8"));
    EXPECT_EQ(entry.value, bytes_of(4u));
  });
  EXPECT_EQ(entries, 1u);
}

TEST(Lpm, ListsAreRefusedWhole) {
  LpmFixture lpm(8, 2);
  ASSERT_TRUE(lpm.replace({{"10.0.0.0/8", 1}}));
  EXPECT_FALSE(lpm.replace({{"1.0.0.0/8", 1}, {"2.0.0.0/8", 1}, {"3.0.0.0/8", 1}}));
  EXPECT_FALSE(lpm.replace({{"1.0.0.0/8", 1}, {"2.0.0.0/33", 1}}));
  EXPECT_TRUE(lpm.replace({{"1.0.0.0/8", 1}, {"1.2.3.4/8", 2}, {"2.0.0.0/8", 3}})) << "the same prefix counts once";
  EXPECT_EQ(lpm.find("1.1.1.1"), 2u) << "and its last value";
  EXPECT_EQ(lpm.find("10.1.1.1"), 0u);
}

TEST(Lpm, AnEmptyValueKeepsTheOldOne) {
  LpmFixture lpm;
  ASSERT_TRUE(lpm.replace({{"10.0.0.0/8", 7}}));
  const std::vector<Prefix> kept{{key_of("10.0.0.0/8"), {}}, {key_of("11.0.0.0/8"), {}}};
  ASSERT_TRUE(lpm.sandbox.maps->replace(0, kept));
  EXPECT_EQ(lpm.find("10.1.2.3"), 7u);
  EXPECT_TRUE(lpm.map().read(key_of("11.0.0.0/8")));
  EXPECT_EQ(lpm.find("11.1.2.3"), 0u);
}

TEST(Lpm, ABatchSeesOneListAndAGenerationCanBeChosen) {
  LpmFixture lpm;
  Maps& maps = *lpm.sandbox.maps;
  Execution& execution = *lpm.sandbox.execution;
  const auto find = [&](const std::string& key) { return lpm.map().lookup(key_of(key).data(), &execution) != nullptr; };
  ASSERT_TRUE(lpm.replace({{"10.0.0.0/8", 1}}));
  const GenerationPtr first = maps.generation();
  maps.begin_batch(execution);
  ASSERT_TRUE(lpm.replace({{"11.0.0.0/8", 1}}));
  EXPECT_TRUE(find("10.1.2.3"));
  EXPECT_FALSE(find("11.1.2.3"));
  maps.end_batch(execution);
  maps.begin_batch(execution);
  EXPECT_FALSE(find("10.1.2.3"));
  EXPECT_TRUE(find("11.1.2.3"));
  maps.end_batch(execution);
  maps.begin_batch(execution, *first);
  EXPECT_TRUE(find("10.1.2.3"));
  maps.end_batch(execution);
}

TEST(Lpm, PlacesOfOldListsAreUsedAgain) {
  LpmFixture lpm(8, 2);
  for (uint32_t round = 1; round < 1000; ++round)
    ASSERT_TRUE(lpm.replace({{"10.0.0.0/8", round}, {"11.0.0.0/8", round}})) << round;
  EXPECT_EQ(lpm.find("10.1.2.3"), 999u);
}

TEST(Lpm, ListsHeldByOthersAreNotOverwritten) {
  LpmFixture lpm(8, 2);
  std::vector<GenerationPtr> held;
  uint32_t round = 1;
  for (; round < 100; ++round) {
    auto next = lpm.replace({{"10.0.0.0/8", round}, {"11.0.0.0/8", round}});
    if (!next) break;
    held.push_back(*next);
  }
  EXPECT_GT(held.size(), 1u);
  EXPECT_LT(round, 100u) << "there must be an end to it";
  EXPECT_EQ(lpm.find("10.1.2.3"), held.size());
  held.clear();
  EXPECT_TRUE(lpm.replace({{"10.0.0.0/8", 500}}));
}

template <uint32_t kBytes>
void compare_with_search(uint64_t seed, uint32_t count) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<LpmPrefix> prefixes;
  for (uint32_t index = 0; index < count; ++index) {
    std::array<uint8_t, kMaxLpmBytes> key{};
    // Few different bytes, so that prefixes nest.
    for (uint32_t byte = 0; byte < kBytes; ++byte) key[byte] = static_cast<uint8_t>(random() % 4 * 85);
    LpmPrefix prefix = LpmTable::masked(key.data(), static_cast<uint32_t>(random() % (kBytes * 8 + 1)));
    const auto same = [&](const LpmPrefix& other) { return other.key == prefix.key && other.length == prefix.length; };
    if (std::any_of(prefixes.begin(), prefixes.end(), same)) continue;
    prefix.value = index + 1;
    prefixes.push_back(prefix);
  }
  const LpmTable table(prefixes, kBytes);
  for (uint32_t probe = 0; probe < 3000; ++probe) {
    std::array<uint8_t, kBytes> key;
    for (uint8_t& byte : key) byte = static_cast<uint8_t>(random() % 3 ? random() % 4 * 85 : random());
    uint32_t expected = 0, length = 0;
    for (const LpmPrefix& prefix : prefixes) {
      const LpmPrefix masked = LpmTable::masked(key.data(), prefix.length);
      if (masked.key != prefix.key || (expected != 0 && prefix.length < length)) continue;
      expected = prefix.value;
      length = prefix.length;
    }
    ASSERT_EQ(table.template find<kBytes>(key.data()), expected);
    ASSERT_EQ(table.find_up_to(key.data(), kBytes * 8), expected);
  }
}

TEST(LpmTable, AgreesWithASearch) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    compare_with_search<4>(seed, seed % 2 ? 5 : 300);
    compare_with_search<8>(seed, 100);
    compare_with_search<16>(seed, 200);
  }
}

TEST(LpmTable, AgreesWithASearchInShortKeys) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    compare_with_search<1>(seed, 20);
    compare_with_search<2>(seed, 50);
    compare_with_search<3>(seed, 50);
  }
}

// Readers in threads while the list changes: each batch sees all of one list. Every list holds two prefixes of one
// value.
TEST(Lpm, ReadersNeverSeeHalfAList) {
  constexpr uint32_t kReaders = 2, kLists = 300;
  const Object object = object_of({}, {map_spec("ranges", BPF_MAP_TYPE_LPM_TRIE, 8, 4, 2)});
  auto maps = Maps::create(object, kReaders);
  ASSERT_TRUE(maps);
  const auto list_of = [](uint32_t value) {
    return std::vector<Prefix>{{key_of("10.0.0.0/8"), bytes_of(value)}, {key_of("192.168.0.0/16"), bytes_of(value)}};
  };
  ASSERT_TRUE((*maps)->replace(0, list_of(1)));
  std::atomic<bool> stop{false};
  std::atomic<uint32_t> torn{0}, batches{0};
  std::vector<std::thread> readers;
  for (uint32_t replica = 0; replica < kReaders; ++replica)
    readers.emplace_back([&, replica] {
      auto execution = std::make_unique<Execution>();
      (*maps)->attach(*execution, replica);
      const auto first_key = key_of("10.1.2.3"), second_key = key_of("192.168.7.7");
      while (!stop) {
        (*maps)->begin_batch(*execution);
        uint32_t first = 0, second = 0;
        const uint8_t* const a = (**maps)[0].lookup(first_key.data(), execution.get());
        if (a) std::memcpy(&first, a, sizeof first);
        std::this_thread::yield();
        const uint8_t* const b = (**maps)[0].lookup(second_key.data(), execution.get());
        if (b) std::memcpy(&second, b, sizeof second);
        if (first == 0 || first != second) ++torn;
        (*maps)->end_batch(*execution);
        ++batches;
      }
    });
  for (uint32_t value = 2; value < kLists; ++value)
    while (!(*maps)->replace(0, list_of(value))) std::this_thread::yield();  // readers hold up old lists for a while
  while (batches < 10) std::this_thread::yield();
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0u);
}

}  // namespace
}  // namespace trama::ebpf
