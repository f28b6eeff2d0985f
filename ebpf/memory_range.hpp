// Is a piece of memory inside another? Never by address + size, which wraps.
#pragma once
#include <cstdint>

namespace trama::ebpf {

constexpr bool inside(uint64_t address, uint64_t bytes, uint64_t first, uint64_t end) noexcept {
  return address >= first && address <= end && end - address >= bytes;
}

}  // namespace trama::ebpf
