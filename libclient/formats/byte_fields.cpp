#include "libclient/formats/byte_fields.hpp"

#include "libclient/formats/checksum.hpp"

namespace trama {

static_assert(sizeof(Checksum) == kSealBytes);

size_t FieldWriter::seal() {
  const Checksum checksum = checksum_of({begin_, static_cast<size_t>(at_ - begin_)});
  bytes(checksum.data(), checksum.size());
  return static_cast<size_t>(at_ - begin_);
}

bool has_whole_seal(std::span<const uint8_t> sealed) {
  if (sealed.size() < kSealBytes) return false;
  const size_t size = sealed.size() - kSealBytes;
  const Checksum checksum = checksum_of(sealed.first(size));
  return std::memcmp(checksum.data(), sealed.data() + size, kSealBytes) == 0;
}

}  // namespace trama
