// How large the result of an operation on numbers can be, and what a comparison says.
#pragma once
#include "ebpf/instruction.hpp"
#include "ebpf/register_state.hpp"

namespace trama::ebpf {

// Both operands are numbers, or taken as such. Not for BPF_MOV of 64 bits.
Register bound_of(const bpf_insn& instruction, const Register& a, const Register& b);

// What the condition says of the two registers (or register and immediate) when it holds, and when it doesn't. Only of
// numbers.
void learn_bounds(const bpf_insn& instruction, bool holds, Register& a, Register& b);

}  // namespace trama::ebpf
