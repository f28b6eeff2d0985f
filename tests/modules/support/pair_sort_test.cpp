#include "modules/support/pair_sort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "tests/support/highway_targets.hpp"

namespace trama {
namespace {

struct Case {
  const char* name;
  uint32_t source_mask;  // of random bits
  uint32_t destination_mask;
};

constexpr Case kCases[] = {
    {"spread", 0xFFFFFFFF, 0xFFFFFFFF},
    {"spread over the top 22 bits only", 0xFFFFFC00, 0x3},
    {"ties of 16 in a large window", 0xFFF80000, 0xFFFFFFFF},
    {"one /16", 0x0000FFFF, 0xFFFFFFFF},
    {"two sources", 0x80000000, 0xFFFFFFFF},
    {"one pair", 0, 0},
};

class PairSortTest : public testing::TestWithParam<int64_t> {
 protected:
  ForcedTarget target_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Targets, PairSortTest, testing::ValuesIn(highway_targets()),
                         [](const auto& test) { return std::string(hwy::TargetName(test.param)); });

TEST_P(PairSortTest, SortsLikeTheStandardLibrary) {
  static constexpr size_t kSizes[] = {0, 1, 2, 3, 100, 2047, 2048, 2079, 2080, 2081, 50000, 300000};
  for (const size_t n : kSizes) {
    PairSorter sorter(n);
    for (const Case& shape : kCases) {
      SCOPED_TRACE(testing::Message() << shape.name << ", seed = n = " << n);
      std::mt19937_64 random(n);
      const std::unique_ptr<uint32_t[]> source(new uint32_t[n]), destination(new uint32_t[n]);
      std::vector<uint64_t> expected;
      for (size_t i = 0; i < n; ++i) {
        source[i] = static_cast<uint32_t>(random()) & shape.source_mask;
        destination[i] = static_cast<uint32_t>(random()) & shape.destination_mask;
        expected.push_back(uint64_t{source[i]} << 32 | destination[i]);
      }
      std::sort(expected.begin(), expected.end());
      const uint64_t* keys = sorter.sort(source.get(), destination.get(), n, IndexOrder::numeric);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), keys));
    }
  }
}

// What is the same for the same keys in any order.
struct Contents {
  uint64_t sum = 0, mixed = 0;
  void add(uint64_t key) {
    sum += key;
    mixed += (key ^ key >> 29) * 0x9E3779B97F4A7C15u;
  }
  bool operator==(const Contents&) const = default;
};

// 2^22 pairs and more go through parts, all into one of them in a /8.
TEST(PairSorterTest, LargeWindowsAreSortedInParts) {
  for (const size_t n : {size_t{1} << 22, (size_t{1} << 22) + 12345}) {
    PairSorter sorter(n);
    std::vector<uint32_t> source(n), destination(n);
    for (const uint32_t source_mask : {0xFFFFFFFFu, 0x00FFFFFFu, 0xFFF80000u}) {
      for (const IndexOrder order : {IndexOrder::numeric, IndexOrder::raw}) {
        SCOPED_TRACE(testing::Message() << "seed = n = " << n << ", mask " << source_mask << ", order " << int(order));
        std::mt19937_64 random(n);
        Contents expected, sorted;
        for (size_t i = 0; i < n; ++i) {
          const uint64_t bits = random();
          source[i] = static_cast<uint32_t>(bits >> 32) & source_mask;
          destination[i] = static_cast<uint32_t>(bits);
          expected.add(order == IndexOrder::raw ? uint64_t{index_of<IndexOrder::raw>(source[i])} << 32 |
                                                      index_of<IndexOrder::raw>(destination[i])
                                                : uint64_t{source[i]} << 32 | destination[i]);
        }
        const uint64_t* keys = sorter.sort(source.data(), destination.data(), n, order);
        ASSERT_TRUE(std::is_sorted(keys, keys + n));
        for (size_t i = 0; i < n; ++i) sorted.add(keys[i]);
        ASSERT_EQ(sorted, expected);
      }
    }
  }
}

}  // namespace
}  // namespace trama
