#include "libclient/formats/checksum.hpp"

#include <xxhash.h>

#include <algorithm>

// Where libxxhash has it: the widest vectors of the processor, chosen at run time. Plain XXH3_128bits has only what
// every x86-64 processor has, and takes half as long again.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#define XXH_DISPATCH_DISABLE_REPLACE
#include <xxh_x86dispatch.h>
#define TRAMA_XXH3_128 XXH3_128bits_dispatch
#else
#define TRAMA_XXH3_128 XXH3_128bits
#endif

namespace trama {

Checksum checksum_of(std::span<const uint8_t> bytes) noexcept {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, TRAMA_XXH3_128(bytes.data(), bytes.size()));
  static_assert(sizeof canonical.digest == sizeof(Checksum));
  Checksum checksum;
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), checksum.begin());
  return checksum;
}

}  // namespace trama
