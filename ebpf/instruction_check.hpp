// Is an instruction one of sets v1 to v3, with its unused fields 0?
#pragma once
#include <linux/bpf.h>

#include <string>

#include "ebpf/object.hpp"

namespace trama::ebpf {

// What is wrong with it; empty: nothing. `second`: of a wide load; null at the end of the program.
std::string instruction_fault(const Object& object, const bpf_insn& instruction, const bpf_insn* second);

}  // namespace trama::ebpf
