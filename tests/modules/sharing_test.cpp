// What replicas share, and that they share nothing else: two threads at a time, for ThreadSanitizer to watch. What the
// results must be is tested in tests/modules/support/.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include "modules/support/crypto_pan.hpp"
#include "modules/support/matrix_sorter.hpp"

namespace trama {
namespace {

constexpr size_t kPairs = 5000;

// Runs the same work on two threads at once and wants the same result of both.
template <class Work>
void twice_at_once(Work work) {
  std::vector<uint32_t> first, second;
  std::thread other([&] { first = work(); });
  second = work();
  other.join();
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, second);
}

std::vector<uint32_t> spread(uint32_t step) {
  std::vector<uint32_t> addresses(kPairs);
  for (uint32_t i = 0; i < addresses.size(); ++i) addresses[i] = i * step;
  return addresses;
}

TEST(Sharing, AllReplicasUseOneCryptoPan) {
  std::array<uint8_t, 32> key;
  std::iota(key.begin(), key.end(), uint8_t{0});
  const CryptoPan crypto_pan(key);
  const std::vector<uint32_t> originals = spread(2654435761u);
  twice_at_once([&] {
    std::vector<uint32_t> result(kPairs);
    crypto_pan.anonymize(originals.data(), result.data(), kPairs);
    return result;
  });
}

TEST(Sharing, BuildersAndSortersShareNothing) {
  // Both ways of sorting: evenly spread sources, and few.
  for (const uint32_t step : {2654435761u, 3u << 20}) {
    const std::vector<uint32_t> source = spread(step), destination = spread(7);
    twice_at_once([&] {
      MatrixBuilder builder(kPairs);
      MatrixSorter sorter(kPairs);
      MatrixStorage built(kPairs), sorted(kPairs);
      builder.build(source.data(), destination.data(), kPairs, IndexOrder::numeric, built);
      sorter.sort(built.view(), IndexOrder::raw, sorted);
      const HyperCsr matrix = sorted.view();
      std::vector<uint32_t> result(matrix.row.begin(), matrix.row.end());
      result.insert(result.end(), matrix.column.begin(), matrix.column.end());
      return result;
    });
  }
}

}  // namespace
}  // namespace trama
