// The cheaper of two ways to anonymize a window.
//
// Packet by packet, or, where pairs repeat much, sorted and summed first, so that each source and each link is
// anonymized once; the matrix must then be sorted again (matrix_sorter.hpp). On heavy-tailed traffic (64,000 links of
// 22,000 sources in 2^17 packets) that saves a third of all work, on evenly spread addresses it would cost a third
// (docs/performance.md). The matrix is the same either way.
#pragma once
#include <cstddef>
#include <cstdint>

#include "modules/support/crypto_pan.hpp"
#include "modules/support/traffic_matrix.hpp"

namespace trama {

// Belongs to one replica: one call at a time. Replicas share the CryptoPan.
class WindowAnonymizer {
 public:
  // Capacity is 1 .. 2^28 pairs. Throws std::bad_alloc; memory is touched only as far as windows reach.
  explicit WindowAnonymizer(size_t capacity);

  // n pairs, n <= the capacity of this and of `summed`. False: their images are in source_image and destination_image,
  // pair by pair. True: their sums are in `summed`, a HyperCsr but for the order of its rows and columns. That order is
  // still the one of the originals, so that nothing may show it. Does not allocate.
  bool anonymize(const CryptoPan& crypto_pan, const uint32_t* source, const uint32_t* destination, size_t n,
                 uint32_t* source_image, uint32_t* destination_image, MatrixStorage& summed) noexcept;

 private:
  bool summing_pays(const uint32_t* source, size_t n) noexcept;

  MatrixBuilder builder_;  // of original addresses
  size_t pause_ = 0;       // windows that are not summed, since the last one that was had too many links
};

}  // namespace trama
