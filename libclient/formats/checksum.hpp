// XXH3's 128 bits, of envelopes, notes and blobs: big-endian, as `xxh128sum` prints them.
#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace trama {

using Checksum = std::array<uint8_t, 16>;

Checksum checksum_of(std::span<const uint8_t> bytes) noexcept;

}  // namespace trama
