// Compact encodings cut, mutated, and beyond limits: every one must end in an error or in a matrix that keeps the
// rules.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/libclient/compact_cases.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/highway_targets.hpp"
#include "tests/support/long_tests.hpp"

namespace trama {
namespace {

using namespace test;

template <class T>
T field(const CompactBytes& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

TEST(HostileCompact, EveryCutIsAnError) {
  std::mt19937_64 random(2);
  for (const auto traffic : {Traffic::uniform, Traffic::skewed}) {
    const CompactBytes good = write_exact(random_window(random, 300, traffic));
    for (size_t length = 0; length < good.size(); ++length) {
      SCOPED_TRACE(length);
      const CompactBytes cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(length));
      EXPECT_TRUE(is_refused(cut));
      if (length < kPartsAt) continue;
      const CompactBytes admits = patched(cut, kBytesAt, uint64_t{length});
      EXPECT_TRUE(is_refused(admits));
      // And one that takes what is missing off each of the parts.
      for (const CompactOffset part : {kRowDataAt, kColumnDataAt, kCountDataAt}) {
        const auto missing = static_cast<uint32_t>(good.size() - length);
        EXPECT_TRUE(is_refused(patched(admits, part, field<uint32_t>(good, part) - missing)));
      }
    }
  }
}

// A few bytes that claim to be many links must not take memory for them.
TEST(HostileCompact, ClaimsBeyondTheBytesGiven) {
  CompactBytes claims = compact_example().bytes();
  claims = patched(patched(claims, kRowsAt, 1U << 25), kLinksAt, 1U << 26);
  EXPECT_TRUE(is_refused(claims));
  if (!test::kCountsAllocations) return;
  CompactReader reader(1000);
  std::mt19937_64 random(3);
  const CompactBytes too_many = write_exact(random_window(random, 4000, Traffic::uniform));
  test::count_this_thread();
  test::start_counting();
  const bool is_read = reader.read(too_many).has_value();
  test::stop_counting();
  EXPECT_FALSE(is_read);
  EXPECT_LT(test::allocations_counted(), 20u);  // the text of the error
}

TEST(HostileCompact, LimitOfTheCaller) {
  std::mt19937_64 random(4);
  const WindowArrays w = random_window(random, 1000, Traffic::uniform);
  const CompactBytes bytes = write_exact(w);
  EXPECT_TRUE(read_compact(bytes, w.column.size()));
  EXPECT_FALSE(read_compact(bytes, w.column.size() - 1));
}

// A reader that has refused something goes on with the next.
TEST(HostileCompact, ErrorsLeaveNothingBehind) {
  std::mt19937_64 random(5);
  CompactReader reader;
  for (const size_t packets : {1000, 10, 3000}) {
    const WindowArrays w = random_window(random, packets, Traffic::skewed);
    CompactBytes bytes = write_exact(w);
    CompactBytes damaged = bytes;
    damaged[kPartsAt] ^= 1;  // the first link begins no row
    EXPECT_FALSE(read_exact(reader, damaged));
    const auto read = read_exact(reader, bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(arrays_of(read->matrix).column, w.column);
  }
}

void mutate(CompactBytes& bytes, std::mt19937_64& random) {
  const size_t changes = 1 + random() % 4;
  for (size_t i = 0; i < changes; ++i) {
    // Some in the header, where the lengths are; its first fields would only be refused.
    const bool in_header = random() % 4 == 0;
    const size_t from = in_header ? size_t{kPacketsAt} : std::min<size_t>(kPartsAt, bytes.size() - 1);
    const size_t to = in_header ? size_t{kPartsAt} : bytes.size();
    const size_t at = from + random() % (to - from);
    switch (random() % 4) {
      case 0: bytes[at] = static_cast<uint8_t>(random()); break;
      case 1: bytes[at] ^= static_cast<uint8_t>(1U << random() % 8); break;
      case 2: bytes[at] = random() % 2 != 0 ? 0xff : 0; break;
      default:
        if (at + 4 <= bytes.size())
          bytes = patched(std::move(bytes), at, static_cast<uint32_t>(random() >> random() % 64));
    }
  }
}

TEST(HostileCompact, MutationsNeverBreakTheReader) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const int64_t target : highway_targets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    const ForcedTarget forced(target);
    std::mt19937_64 random(seed);
    std::vector<CompactBytes> seeds{write_exact({}), compact_example().bytes()};
    for (const size_t packets : {1, 3, 40, 700, 9000}) {
      for (const auto traffic : {Traffic::uniform, Traffic::skewed, Traffic::edges}) {
        seeds.push_back(write_exact(random_window(random, packets, traffic)));
      }
    }
    CompactReader reader;
    size_t errors = 0, matrices = 0;
    for (uint64_t i = 0; i < runs(10000, 1'000'000); ++i) {
      CompactBytes bytes = seeds[random() % seeds.size()];
      mutate(bytes, random);
      const auto read = read_exact(reader, bytes);
      if (read) {
        ASSERT_TRUE(keeps_the_rules(read->matrix)) << "mutation " << i;
        ++matrices;
      } else {
        ASSERT_FALSE(read.error().text.empty());
        ++errors;
      }
    }
    EXPECT_GT(errors, matrices);
    EXPECT_GT(matrices, 50u);  // gaps and the least column may be others
  }
}

}  // namespace
}  // namespace trama
