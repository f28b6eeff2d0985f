// What each instruction computes, as a table for whatever runs programs: programs and the r0 that they must end with,
// worked out by hand from the kernel's documentation (Documentation/bpf/instruction-set.rst). None uses a map or a
// packet.
#pragma once
#include <linux/bpf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace trama::ebpf {

struct ConformanceCase {
  std::string name;
  std::vector<bpf_insn> code;
  uint64_t expected;
};

void add_arithmetic(std::vector<ConformanceCase>& cases);
void add_jumps_and_calls(std::vector<ConformanceCase>& cases);
void add_memory(std::vector<ConformanceCase>& cases);
inline std::vector<ConformanceCase> conformance_cases() {
  std::vector<ConformanceCase> cases;
  add_arithmetic(cases);
  add_jumps_and_calls(cases);
  add_memory(cases);
  return cases;
}

constexpr uint64_t kAllBits = ~uint64_t{0}, kSignBit = uint64_t{1} << 63;
constexpr uint64_t kUpperBit = uint64_t{1} << 32;  // what 32-bit operations must neither see nor keep

// As a number of 32 bits that is sign-extended.
constexpr bool fits_immediate(uint64_t value) {
  return value == static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)});
}

}  // namespace trama::ebpf
