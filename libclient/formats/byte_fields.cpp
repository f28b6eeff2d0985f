#include "libclient/formats/byte_fields.hpp"

#include <xxhash.h>

namespace trama {
namespace {

XXH128_canonical_t seal_of(const uint8_t* bytes, size_t size) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size));
  return canonical;
}
static_assert(sizeof(XXH128_canonical_t) == kSealBytes);

}  // namespace

size_t FieldWriter::seal() {
  const auto checksum = seal_of(begin_, static_cast<size_t>(at_ - begin_));
  bytes(&checksum, sizeof checksum);
  return static_cast<size_t>(at_ - begin_);
}

bool has_whole_seal(std::span<const uint8_t> sealed) {
  if (sealed.size() < kSealBytes) return false;
  const size_t size = sealed.size() - kSealBytes;
  const auto checksum = seal_of(sealed.data(), size);
  return std::memcmp(&checksum, sealed.data() + size, kSealBytes) == 0;
}

}  // namespace trama
