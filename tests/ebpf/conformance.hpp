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

std::vector<ConformanceCase> conformance_cases();

}  // namespace trama::ebpf
