// Checksums are XXH3's, whichever vectors they are worked out with.
#include "libclient/formats/checksum.hpp"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <random>
#include <vector>

namespace trama {
namespace {

TEST(Checksum, IsThatOfThePlainFunction) {
  std::mt19937 random(7);
  std::vector<uint8_t> bytes(100'000);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  std::vector<size_t> lengths = {1024, 4096, 65'537, bytes.size()};
  for (size_t length = 0; length < 600; ++length) lengths.push_back(length);
  for (const size_t length : lengths) {
    XXH128_canonical_t plain;
    XXH128_canonicalFromHash(&plain, XXH3_128bits(bytes.data(), length));
    const Checksum checksum = checksum_of({bytes.data(), length});
    ASSERT_TRUE(std::equal(checksum.begin(), checksum.end(), plain.digest)) << length;
  }
}

}  // namespace
}  // namespace trama
