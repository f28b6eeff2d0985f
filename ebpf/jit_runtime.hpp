// What machine code calls besides helpers. None allocates or throws.
#pragma once
#include <cstdint>

#include "ebpf/execution.hpp"

namespace trama::ebpf {

// How an access that isn't proven is to be checked.
struct AccessCheck {
  uint32_t bytes = 0;
  Region region = Region::any;
  bool atomic = false;

  // As one number, which machine code has as a constant.
  uint64_t packed() const { return bytes | static_cast<uint64_t>(region) << 8 | uint64_t{atomic} << 16; }
  static AccessCheck unpacked(uint64_t packed) {
    return {static_cast<uint32_t>(packed & 0xff), static_cast<Region>(packed >> 8 & 0xff), packed >> 16 != 0};
  }
};

// What is at the address, zero-extended; 0 and Fault::bad_access when nothing may be read there.
uint64_t checked_load(Execution* execution, uint64_t address, uint64_t check) noexcept;

// The address, when it may be stored to; else 0 and Fault::bad_access.
uint64_t checked_store(Execution* execution, uint64_t address, uint64_t check) noexcept;

// bpf_tail_call: the index of the program to go on with, or -1 to fall through, after a fault too. Called like a helper
// (ebpf/helpers.hpp); r4 is the number of programs.
uint64_t tail_call_target(uint64_t context, uint64_t map_tag, uint64_t index, uint64_t programs, uint64_t,
                          Execution* execution) noexcept;

}  // namespace trama::ebpf
