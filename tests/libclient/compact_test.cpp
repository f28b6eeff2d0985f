// The compact encoding gives back what it was made from, in few bytes, and the same bytes on every processor. A second
// reader, in Python and from docs/formats.md alone, is the judge of the format.
#include "libclient/formats/compact.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <random>
#include <sstream>
#include <string>

#include "tests/bench/traffic_pairs.hpp"
#include "tests/libclient/compact_cases.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/highway_targets.hpp"
#include "tests/support/long_tests.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

using test::CompactBytes;
using test::WindowArrays;

// How long the rows are, and how far rows and columns are apart.
struct Shape {
  const char* name;
  double links_a_row;
  int row_bits, column_bits, count_bits;  // of random gaps and counts, at most
};
constexpr Shape kShapes[] = {
    {"uniform", 1.001, 16, 32, 0},
    {"all rows alone", 1, 12, 32, 0},
    {"skewed", 3, 18, 22, 3},
    {"pairs", 2, 8, 8, 1},
    {"long rows", 200, 24, 10, 9},
    {"one row", 1e9, 32, 12, 32},
    {"dense columns", 70, 0, 0, 17},
    {"large counts", 4, 20, 20, 32},
    {"gaps of every length", 5, 20, 20, 25},
    {"wide columns", 1.5, 10, 32, 5},
};

uint32_t up_to_bits(std::mt19937_64& random, int bits) {
  return bits == 0 ? 0 : static_cast<uint32_t>((random() >> 32) >> (32 - 1 - random() % static_cast<uint64_t>(bits)));
}

// About `links` links, fewer where the indices end before.
WindowArrays window_like(const Shape& shape, size_t links, std::mt19937_64& random) {
  WindowArrays w;
  uint64_t row = up_to_bits(random, shape.row_bits);
  while (w.column.size() < links && row <= UINT32_MAX) {
    w.row.push_back(static_cast<uint32_t>(row));
    uint64_t column = up_to_bits(random, shape.column_bits);
    do {
      w.column.push_back(static_cast<uint32_t>(column));
      w.count.push_back(std::max(1U, up_to_bits(random, shape.count_bits)));
      column += uint64_t{1} + up_to_bits(random, shape.column_bits);
    } while (w.column.size() < links && column <= UINT32_MAX &&
             static_cast<double>(random() % 1'000'000) >= 1'000'000 / shape.links_a_row);
    w.start.push_back(static_cast<uint32_t>(w.column.size()));
    row += uint64_t{1} + up_to_bits(random, shape.row_bits);
  }
  return w;
}

std::vector<size_t> sizes() {
  std::vector<size_t> sizes(260);
  std::iota(sizes.begin(), sizes.end(), 0);
  sizes.insert(sizes.end(), {511, 512, 513, 1000, 4096, 5003, 20001});
  return sizes;
}

uint64_t packets_of(const WindowArrays& w) { return std::accumulate(w.count.begin(), w.count.end(), uint64_t{0}); }

void expect_round_trip(const WindowArrays& w, const CompactBytes& bytes, CompactReader& reader) {
  ASSERT_FALSE(bytes.empty());
  const auto read = test::read_exact(reader, bytes);
  ASSERT_TRUE(read) << read.error().text;
  const WindowArrays back = test::arrays_of(read->matrix);
  ASSERT_EQ(back.row, w.row);
  ASSERT_EQ(back.start, w.start);
  ASSERT_EQ(back.column, w.column);
  ASSERT_EQ(back.count, w.count);
  ASSERT_EQ(read->packets, packets_of(w));
}

TEST(Compact, EveryTargetWritesTheSameBytesAndReadsThemBack) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<CompactBytes> of_the_first;
  for (const int64_t target : highway_targets()) {
    const ForcedTarget forced(target);
    CompactReader reader;
    std::mt19937_64 random(seed);
    size_t windows = 0;
    for (const Shape& shape : kShapes) {
      for (const size_t links : sizes()) {
        SCOPED_TRACE(testing::Message() << hwy::TargetName(target) << ", " << shape.name << ", " << links << " links");
        const WindowArrays w = window_like(shape, links, random);
        const CompactBytes bytes = test::write_exact(w);
        ASSERT_NO_FATAL_FAILURE(expect_round_trip(w, bytes, reader));
        if (windows == of_the_first.size()) of_the_first.push_back(bytes);
        ASSERT_EQ(bytes, of_the_first[windows++]);
      }
    }
  }
}

TEST(Compact, EverythingThatAWindowCanBe) {
  constexpr uint32_t kMost = UINT32_MAX;
  const WindowArrays windows[] = {
      {},
      {{0}, {0, 1}, {0}, {1}},
      {{kMost}, {0, 1}, {kMost}, {kMost}},
      {{0, kMost}, {0, 2, 4}, {0, kMost, 0, kMost}, {kMost, 1, 1, kMost}},
      {{0, 1}, {0, 1, 2}, {kMost, 0}, {1, 1}},
      {{5, 6, 7}, {0, 1, 2, 3}, {kMost, kMost, kMost}, {kMost, kMost, kMost}},
  };
  CompactReader reader;
  for (const WindowArrays& w : windows) {
    SCOPED_TRACE(w.column.size());
    expect_round_trip(w, test::write_exact(w), reader);
    const auto matrix = read_compact(test::write_exact(w));
    ASSERT_TRUE(matrix);
    EXPECT_EQ(*matrix, w.matrix());
  }
}

// Rows begin at every place of the words that say where they begin.
TEST(Compact, LargeWindows) {
  const uint64_t links = runs(1 << 20, 1 << 23);
  std::mt19937_64 random(1);
  CompactReader reader;
  for (const double links_a_row : {1.0, 1.01, 2.5, 100.0, 1e9}) {
    SCOPED_TRACE(links_a_row);
    const WindowArrays w = window_like({"", links_a_row, 8, 7, 1}, links, random);
    ASSERT_EQ(w.column.size(), links);
    expect_round_trip(w, test::write_exact(w), reader);
  }
}

TEST(Compact, IndexOrderIsSaid) {
  const WindowArrays w{{1}, {0, 1}, {2}, {3}};
  CompactReader reader;
  for (const bool raw : {false, true}) {
    const auto read = test::read_exact(reader, test::write_exact(w, raw));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->raw_order, raw);
  }
}

// The example of docs/formats.md, byte by byte.
TEST(Compact, WritesTheBytesThatTheFormatSays) {
  const WindowArrays w{{1, 70000}, {0, 2, 3}, {10, 300, 10}, {1, 3, 1}};
  const CompactBytes expected = {
      0xD4, 0x54, 0x43, 0x4D, 1, 0, 0, 0,  // magic, version, flags
      61,   0,    0,    0,    0, 0, 0, 0,  // bytes
      5,    0,    0,    0,    0, 0, 0, 0,  // packets
      2,    0,    0,    0,                 // rows
      3,    0,    0,    0,                 // links
      10,   0,    0,    0,                 // the least column
      4,    0,    0,    0,                 // bytes of row data,
      4,    0,    0,    0,                 // of column data,
      1,    0,    0,    0,                 // of count data
      0x05,                                // links 0 and 2 begin a row
      0x08,                                // row codes 0, 2
      0x04,                                // column codes 0, 1, 0
      0x04,                                // count codes 0, 1, 0
      1,    0x6E, 0x11, 0x01,              // rows 1 and 70000 - 1 - 1
      0,    0x21, 0x01, 0,                 // columns 10 - 10; 300 - 10 - 1; 10 - 10
      2,                                   // counts 1 - 1; 3 - 1; 1 - 1
  };
  EXPECT_EQ(test::write_exact(w), expected);
}

TEST(Compact, NeverLongerThanTheBound) {
  std::mt19937_64 random(2);
  for (const size_t links : {1, 3, 4, 5, 64, 1000}) {
    WindowArrays w;  // all of four bytes
    for (size_t i = 0; i < links; ++i) {
      w.row.push_back(static_cast<uint32_t>((i + 1) * (UINT32_MAX / (links + 1))));
      w.start.push_back(static_cast<uint32_t>(i + 1));
      w.column.push_back(i == 0 ? 0 : 0xFF000000U | static_cast<uint32_t>(random()));
      w.count.push_back(0xFF000000U | static_cast<uint32_t>(random()));
    }
    EXPECT_LE(test::write_exact(w).size(), compact_bound(links));
  }
}

TEST(Compact, TheWriterRefusesWhatDoesNotFit) {
  const WindowArrays w{{1, 7}, {0, 1, 2}, {2, 3}, {1, 1}};
  CompactBytes out(compact_bound(2));
  EXPECT_NE(write_compact(w.view(), false, out), 0u);
  EXPECT_EQ(write_compact(w.view(), false, std::span(out).first(out.size() - 1)), 0u);
  const std::span<const uint32_t> none;
  const HyperCsr v = w.view();
  EXPECT_EQ(write_compact({none, v.start, v.column, v.count}, false, out), 0u);
  EXPECT_EQ(write_compact({v.row, v.start.first(2), v.column, v.count}, false, out), 0u);
  EXPECT_EQ(write_compact({v.row, v.start, v.column.first(1), v.count}, false, out), 0u);
  EXPECT_EQ(write_compact({v.row, v.start, v.column, v.count.first(1)}, false, out), 0u);
}

WindowArrays window_of(const TrafficPairs& pairs) {
  std::vector<std::pair<uint32_t, uint32_t>> packets;
  for (size_t i = 0; i < pairs.source.size(); ++i) packets.emplace_back(pairs.source[i], pairs.destination[i]);
  return test::window_of(std::move(packets));
}

TEST(Compact, IsShort) {
  constexpr size_t kPackets = size_t{1} << 17;
  const auto bytes_a_packet = [](const TrafficPairs& pairs) {
    return static_cast<double>(test::write_exact(window_of(pairs)).size()) / kPackets;
  };
  EXPECT_LE(bytes_a_packet(uniform_pairs(kPackets)), 6.8);  // no encoding takes less than 6.06
  EXPECT_LE(bytes_a_packet(skewed_pairs(kPackets)), 2.2);
}

TEST(Compact, TakesNoMemoryOnceRunning) {
  if (!test::kCountsAllocations) GTEST_SKIP() << "allocations can't be counted under a sanitizer";
  const WindowArrays w = window_of(skewed_pairs(20000));
  CompactBytes out(compact_bound(w.column.size()));
  CompactReader reader;
  size_t bytes = write_compact(w.view(), false, out);
  ASSERT_TRUE(reader.read(std::span(out).first(bytes)));
  test::count_this_thread();
  test::start_counting();
  bytes = write_compact(w.view(), false, out);
  const bool read = reader.read(std::span(out).first(bytes)).has_value();
  test::stop_counting();
  EXPECT_TRUE(read);
  EXPECT_EQ(test::allocations_counted(), 0u);
}

// tests/libclient/compact_judge.py reads every encoding in a folder and compares it with the list beside it.
TEST(Compact, AnIndependentReaderGetsTheSame) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const test::ScratchFolder folder;
  size_t windows = 0;
  const auto put = [&](const WindowArrays& w) {
    std::ostringstream list;
    for (size_t i = 0; i < w.row.size(); ++i) {
      for (size_t k = w.start[i]; k < w.start[i + 1]; ++k) {
        list << w.row[i] << ',' << w.column[k] << ',' << w.count[k] << '\n';
      }
    }
    const bool raw_order = windows % 2 != 0;
    const std::string name = std::to_string(windows++);
    test::write_file(folder / (name + ".compact"), test::write_exact(w, raw_order));
    test::write_file(folder / (name + ".csv"), list.str());
  };
  for (const Shape& shape : kShapes) {
    for (const size_t links : {0, 1, 2, 3, 4, 5, 63, 64, 65, 1000}) put(window_like(shape, links, random));
  }
  put(window_of(skewed_pairs(20000)));
  const std::string command = "/usr/bin/python3 '" TRAMA_TEST_DATA "/../libclient/compact_judge.py' '" +
                              folder.path().string() + "' " + std::to_string(windows);
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace trama
