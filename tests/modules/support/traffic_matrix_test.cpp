#include "modules/support/traffic_matrix.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <utility>

#include "modules/support/matrix_sorter.hpp"
#include "tests/support/highway_targets.hpp"

namespace trama {
namespace {

constexpr uint32_t kLast = 0xFFFFFFFF;

// Blocks that end at the last element, so that AddressSanitizer sees one too far.
struct Pairs {
  explicit Pairs(size_t size) : n(size), source(new uint32_t[size]), destination(new uint32_t[size]) {}
  size_t n;
  std::unique_ptr<uint32_t[]> source;
  std::unique_ptr<uint32_t[]> destination;
};

using Random = std::mt19937_64;
using PairOf = std::pair<uint32_t, uint32_t> (*)(Random&, size_t);

struct Shape {
  const char* name;
  PairOf pair;
};

uint32_t any(Random& random) { return static_cast<uint32_t>(random()); }

const Shape kShapes[] = {
    {"uniform",
     [](Random& r, size_t) {
       return std::pair{any(r), any(r)};
     }},
    {"all equal",
     [](Random&, size_t) {
       return std::pair{0x01020304u, 0x05060708u};
     }},
    {"few",
     [](Random& r, size_t) {
       return std::pair{any(r) % 4 << 30, any(r) % 16};
     }},
    {"corners",
     [](Random& r, size_t) {
       return std::pair{any(r) % 2 * kLast, any(r) % 2 * kLast};
     }},
    {"self",
     [](Random& r, size_t) {
       const uint32_t a = any(r) % 1000;
       return std::pair{a, a};
     }},
    {"one source",
     [](Random& r, size_t) {
       return std::pair{kLast, any(r)};
     }},
    {"one destination",
     [](Random& r, size_t) {
       return std::pair{any(r), 0u};
     }},
    {"sorted",
     [](Random&, size_t i) {
       return std::pair{static_cast<uint32_t>(i / 3), static_cast<uint32_t>(i)};
     }},
    {"reversed",
     [](Random&, size_t i) {
       return std::pair{kLast - static_cast<uint32_t>(i), 7u};
     }},
    // Evenly spread in the top 22 bits of the source, so that the radix sort is taken, with ties of every length.
    {"tied pairs",
     [](Random& r, size_t) {
       return std::pair{any(r) % 30011 * 140009u & ~3u, any(r)};
     }},
    {"long ties",
     [](Random& r, size_t i) {
       const uint32_t top = i % 16 == 0 ? any(r) : static_cast<uint32_t>(i % 1024) << 22;
       return std::pair{top | (any(r) & 0x3FF), any(r) % 8};
     }},
    // What the sample of the sources can't see: it looks at every n / 2048th one.
    {"one heavy source between spread ones",
     [](Random& r, size_t i) {
       return std::pair{i % 2 == 0 ? any(r) : 0x0A000001u, any(r) % 64};
     }},
};

Pairs make_pairs(const Shape& shape, size_t n, uint64_t seed) {
  Random random(seed);
  Pairs pairs(n);
  for (size_t i = 0; i < n; ++i) std::tie(pairs.source[i], pairs.destination[i]) = shape.pair(random, i);
  return pairs;
}

// The matrix by its definition.
Matrix reference(const Pairs& pairs, IndexOrder order) {
  const auto index = [&](uint32_t a) { return order == IndexOrder::raw ? __builtin_bswap32(a) : a; };
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> packets;
  for (size_t i = 0; i < pairs.n; ++i) ++packets[{index(pairs.source[i]), index(pairs.destination[i])}];
  Matrix matrix;
  for (const auto& [link, count] : packets) {
    if (matrix.row.empty() || matrix.row.back() != link.first) {
      matrix.row.push_back(link.first);
      matrix.start.push_back(0);
    }
    matrix.column.push_back(link.second);
    matrix.count.push_back(count);
    matrix.start.back() = matrix.column.size();
  }
  return matrix;
}

Matrix copy(const HyperCsr& view) {
  Matrix matrix;
  matrix.row.assign(view.row.begin(), view.row.end());
  matrix.start.assign(view.start.begin(), view.start.end());
  matrix.column.assign(view.column.begin(), view.column.end());
  matrix.count.assign(view.count.begin(), view.count.end());
  return matrix;
}

class TrafficMatrixTest : public testing::TestWithParam<int64_t> {
 protected:
  ForcedTarget target_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Targets, TrafficMatrixTest, testing::ValuesIn(highway_targets()),
                         [](const auto& test) { return std::string(hwy::TargetName(test.param)); });

TEST_P(TrafficMatrixTest, IsTheSumOfThePairs) {
  constexpr size_t kCapacity = 300;
  MatrixBuilder builder(kCapacity);
  MatrixStorage storage(kCapacity);
  for (const Shape& shape : kShapes) {
    for (size_t n = 0; n <= kCapacity; ++n) {
      SCOPED_TRACE(testing::Message() << shape.name << ", seed = n = " << n);
      const Pairs pairs = make_pairs(shape, n, n);
      builder.build(pairs.source.get(), pairs.destination.get(), n, IndexOrder::numeric, storage);
      ASSERT_EQ(copy(storage.view()), reference(pairs, IndexOrder::numeric));
    }
  }
}

TEST_P(TrafficMatrixTest, IsTheSumOfManyPairs) {
  // Around the sizes where the way of sorting changes, and a whole window. A builder's memory ends with its window.
  static constexpr size_t kSizes[] = {2047, 2048, 2049, 4097, 20000, 1 << 17};
  for (const size_t n : kSizes) {
    MatrixBuilder builder(n);
    MatrixStorage storage(n);
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(testing::Message() << shape.name << ", seed = n = " << n);
      const Pairs pairs = make_pairs(shape, n, n);
      builder.build(pairs.source.get(), pairs.destination.get(), n, IndexOrder::numeric, storage);
      ASSERT_EQ(copy(storage.view()), reference(pairs, IndexOrder::numeric));
    }
  }
}

TEST_P(TrafficMatrixTest, RawOrderSwapsTheBytesOfEachAddress) {
  static constexpr size_t kSizes[] = {1, 2, 100, 5000};
  for (const size_t n : kSizes) {
    MatrixBuilder builder(n);
    MatrixStorage storage(n);
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(testing::Message() << shape.name << ", seed = n = " << n);
      const Pairs pairs = make_pairs(shape, n, n);
      builder.build(pairs.source.get(), pairs.destination.get(), n, IndexOrder::raw, storage);
      ASSERT_EQ(copy(storage.view()), reference(pairs, IndexOrder::raw));
    }
  }
  MatrixBuilder builder(1);
  MatrixStorage storage(1);
  const uint32_t source = 0x01020304, destination = 0x0A0B0C0D;
  builder.build(&source, &destination, 1, IndexOrder::raw, storage);
  EXPECT_EQ(storage.view().row[0], 0x04030201u);
  EXPECT_EQ(storage.view().column[0], 0x0D0C0B0Au);
}

TEST_P(TrafficMatrixTest, WithOtherAddressesIsSortedAgain) {
  static constexpr size_t kSizes[] = {0, 1, 2, 3, 24, 25, 300, 5000};
  constexpr auto other = [](uint32_t address) { return address * 0x9E3779B1u + 7; };  // odd: a bijection
  for (const size_t n : kSizes) {
    const size_t capacity = std::max<size_t>(n, 1);
    MatrixBuilder builder(capacity);
    MatrixSorter sorter(capacity);
    MatrixStorage unsorted(capacity), sorted(capacity);
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(testing::Message() << shape.name << ", seed = n = " << n);
      Pairs pairs = make_pairs(shape, n, n);
      for (const IndexOrder order : {IndexOrder::numeric, IndexOrder::raw}) {
        builder.build(pairs.source.get(), pairs.destination.get(), n, IndexOrder::numeric, unsorted);
        const HyperCsr view = unsorted.view();
        std::transform(view.row.begin(), view.row.end(), unsorted.row(), other);
        std::transform(view.column.begin(), view.column.end(), unsorted.column(), other);
        sorter.sort(view, order, sorted);
        std::transform(pairs.source.get(), pairs.source.get() + n, pairs.source.get(), other);
        std::transform(pairs.destination.get(), pairs.destination.get() + n, pairs.destination.get(), other);
        ASSERT_EQ(copy(sorted.view()), reference(pairs, order));
      }
    }
  }
}

TEST_P(TrafficMatrixTest, CountsBeyond16Bits) {
  constexpr size_t kPackets = 70000;
  MatrixBuilder builder(kPackets);
  MatrixStorage storage(kPackets);
  const Pairs pairs = make_pairs(kShapes[1], kPackets, 0);
  builder.build(pairs.source.get(), pairs.destination.get(), kPackets, IndexOrder::numeric, storage);
  const Matrix expected{{0x01020304}, {0, 1}, {0x05060708}, {kPackets}};
  EXPECT_EQ(copy(storage.view()), expected);
}

TEST_P(TrafficMatrixTest, LeavesNothingOfTheWindowBefore) {
  MatrixBuilder builder(5000);
  MatrixStorage storage(5000);
  static constexpr size_t kSizes[] = {5000, 3, 0, 17, 2500, 1, 0};
  for (const size_t n : kSizes) {
    const Pairs pairs = make_pairs(kShapes[0], n, n);
    builder.build(pairs.source.get(), pairs.destination.get(), n, IndexOrder::numeric, storage);
    EXPECT_EQ(copy(storage.view()), reference(pairs, IndexOrder::numeric)) << n;
  }
}

TEST(TrafficMatrixStorageTest, IsEmptyAtFirst) {
  const MatrixStorage storage(10);
  EXPECT_EQ(copy(storage.view()), Matrix{});
}

TEST(TrafficMatrixStorageTest, KeepsItsMatrixWhenMoved) {
  MatrixStorage storage(3);
  MatrixBuilder builder(3);
  const Pairs pairs = make_pairs(kShapes[0], 3, 1);
  builder.build(pairs.source.get(), pairs.destination.get(), 3, IndexOrder::numeric, storage);
  MatrixStorage moved = std::move(storage);
  storage = MatrixStorage(1);
  EXPECT_EQ(copy(moved.view()), reference(pairs, IndexOrder::numeric));
  EXPECT_EQ(copy(storage.view()), Matrix{});
}

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(TrafficMatrixStorageTest, LargeWindowsCostNothingUntilTheyFill) {
  constexpr size_t kCapacity = size_t{1} << 28;
  constexpr size_t kAllowed = size_t{64} << 20;
  const size_t before = resident_bytes();
  MatrixBuilder builder(kCapacity);
  MatrixStorage storage(kCapacity);
  const Pairs pairs = make_pairs(kShapes[0], 3000, 1);
  builder.build(pairs.source.get(), pairs.destination.get(), 3000, IndexOrder::numeric, storage);
  EXPECT_EQ(copy(storage.view()), reference(pairs, IndexOrder::numeric));
  EXPECT_LT(resident_bytes(), before + kAllowed);
}

}  // namespace
}  // namespace trama
