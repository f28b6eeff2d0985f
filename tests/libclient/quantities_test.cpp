#include "libclient/formats/quantities.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <string>

#include "libclient/formats/matrix_sum.hpp"
#include "tests/libclient/matrices.hpp"

namespace trama {
namespace {

using test::random_window;
using test::Traffic;
using Links = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;

Links links_of(const Matrix& m) {
  Links links;
  for (size_t i = 0; i < m.rows(); ++i) {
    for (size_t j = static_cast<size_t>(m.start[i]); j < m.start[i + 1]; ++j)
      links[{m.row[i], m.column[j]}] = m.count[j];
  }
  return links;
}

// The definitions, word for word.
Quantities by_definition(const Links& links) {
  Quantities q;
  std::map<uint32_t, uint64_t> sources, destinations, fan_out, fan_in;
  for (const auto& [link, count] : links) {
    q.n_packets += count;
    q.max_packets = std::max(q.max_packets, count);
    sources[link.first] += count, destinations[link.second] += count;
    ++fan_out[link.first], ++fan_in[link.second];
  }
  const auto most = [](const std::map<uint32_t, uint64_t>& sums) {
    uint64_t largest = 0;
    for (const auto& [index, sum] : sums) largest = std::max(largest, sum);
    return largest;
  };
  q.n_links = links.size(), q.n_sources = sources.size(), q.n_destinations = destinations.size();
  q.max_source_packets = most(sources), q.max_destination_packets = most(destinations);
  q.max_fan_out = most(fan_out), q.max_fan_in = most(fan_in);
  return q;
}

TEST(Quantities, KnownAnswer) {
  const Matrix matrix{
      {0, 2, 3, 4}, {0, 4, 7, 10, 12}, {1, 2, 3, 4, 1, 2, 4, 2, 3, 4, 2, 4}, {1, 1, 2, 1, 4, 2, 1, 2, 4, 1, 1, 1}};
  const Quantities expected{21, 12, 4, 4, 4, 7, 6, 4, 4};
  EXPECT_EQ(quantities(matrix), expected);
}

TEST(Quantities, Empty) {
  EXPECT_EQ(quantities(Matrix{}), Quantities{});
  EXPECT_EQ(QuantityCounter().count(HyperCsr{}), Quantities{});
}

TEST(Quantities, AsDefined) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  QuantityCounter counter;
  for (const auto traffic : {Traffic::uniform, Traffic::skewed, Traffic::edges}) {
    for (const size_t packets : {5000, 1, 2, 3, 100, 20000}) {
      const auto w = random_window(random, packets, traffic);
      const Quantities expected = by_definition(links_of(w.matrix()));
      EXPECT_EQ(counter.count(w.view()), expected);
      EXPECT_EQ(counter.count(w.matrix()), expected);
    }
  }
}

TEST(Quantities, StopAtTheLargestNumber) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  const Matrix matrix{{1, 2}, {0, 2, 3}, {5, 6, 5}, {kMost, 2, 1}};
  const Quantities expected{kMost, 3, 2, 2, kMost, kMost, kMost, 2, 2};
  EXPECT_EQ(quantities(matrix), expected);
  EXPECT_EQ(add_matrices(matrix, matrix).count, (std::vector<uint64_t>{kMost, 4, 2}));
}

TEST(MatrixSum, AsDefined) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  MatrixSum sum;
  EXPECT_EQ(sum.take(), Matrix{});
  for (const size_t windows : {1, 2, 3, 7, 8, 21, 64}) {
    Links expected;
    for (size_t i = 0; i < windows; ++i) {
      const auto w = random_window(random, random() % 300, static_cast<Traffic>(random() % 3));
      EXPECT_EQ(to_matrix(w.view()), w.matrix());
      for (const auto& [link, count] : links_of(w.matrix())) expected[link] += count;
      sum.add(w.matrix());
    }
    const Matrix total = sum.take();
    ASSERT_EQ(total.start.size(), total.rows() + 1);
    EXPECT_EQ(total.links(), expected.size());
    EXPECT_EQ(links_of(total), expected);
    EXPECT_TRUE(std::is_sorted(total.row.begin(), total.row.end()));
    EXPECT_EQ(quantities(total), by_definition(expected));
  }
  EXPECT_EQ(sum.take(), Matrix{});
}

}  // namespace
}  // namespace trama
