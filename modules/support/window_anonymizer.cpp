#include "modules/support/window_anonymizer.hpp"

namespace trama {
namespace {

constexpr size_t kFewest = 2048;  // pairs that a choice is worth the while for

// Sources and links for each packet up to which summing pays: measured where several blocks of AES are encrypted by one
// instruction, and estimated where an address costs more than twice as much: 16 ns, when to sort again costs 8 a
// packet.
constexpr double kMostWithWideAes = 1.2, kMostWithout = 1.5;

constexpr size_t kPause = 31;  // windows between two trials

}  // namespace

WindowAnonymizer::WindowAnonymizer(size_t capacity) : builder_(capacity) {}

bool WindowAnonymizer::anonymize(const CryptoPan& crypto_pan, const uint32_t* source, const uint32_t* destination,
                                 size_t n, uint32_t* source_image, uint32_t* destination_image,
                                 MatrixStorage& summed) noexcept {
  if (!summing_pays(source, n)) {
    crypto_pan.anonymize(source, source_image, n);
    crypto_pan.anonymize(destination, destination_image, n);
    return false;
  }
  builder_.build(source, destination, n, IndexOrder::numeric, summed);
  const HyperCsr sums = summed.view();
  crypto_pan.anonymize(summed.row(), summed.row(), sums.rows());
  crypto_pan.anonymize(summed.column(), summed.column(), sums.links());
  const double most = (CryptoPan::has_wide_aes() ? kMostWithWideAes : kMostWithout) * static_cast<double>(n);
  if (static_cast<double>(sums.rows() + sums.links()) > most) pause_ = kPause;
  return true;
}

// What the windows before were like tells what this one is, unless a sample of it says that nothing repeats.
bool WindowAnonymizer::summing_pays(const uint32_t* source, size_t n) noexcept {
  if (n < kFewest || sources_are_flat(source, n, IndexOrder::numeric)) return false;
  if (pause_ == 0) return true;
  --pause_;
  return false;
}

}  // namespace trama
