// An object, or the refusal of one, as bytes: what the process that links sends to the one that asked. The reader
// believes nothing.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ebpf/error.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

constexpr uint64_t kMaxEncodedBytes = 64u << 20;

std::vector<uint8_t> encode(const Expected<Object>& result);

// Refuses what isn't complete, or breaks the bounds of ebpf/object.hpp. Texts are made printable.
Expected<Object> decode(std::span<const uint8_t> bytes);

}  // namespace trama::ebpf
