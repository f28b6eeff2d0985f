// Instructions that compilers put side by side, and that interpreter and machine code run as one. Whether something
// jumps into the middle of them is for who runs them to look after. False also where the code ends too early.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "ebpf/instruction.hpp"

namespace trama::ebpf {

constexpr bool is_lookup(const bpf_insn& instruction) {
  return is_helper_call(instruction) && instruction.imm == BPF_FUNC_map_lookup_elem;
}

// "a = b; a += number".
constexpr bool is_sum(std::span<const bpf_insn> code, size_t at) {
  if (at + 1 >= code.size()) return false;
  const bpf_insn &move = code[at], &addition = code[at + 1];
  return move.code == (BPF_ALU64 | BPF_MOV | BPF_X) && move.off == 0 &&
         addition.code == (BPF_ALU64 | BPF_ADD | BPF_K) && addition.dst_reg == move.dst_reg;
}

// "r1 = map; r0 = lookup".
constexpr bool is_lookup_in_map(std::span<const bpf_insn> code, size_t at) {
  if (at + 2 >= code.size()) return false;
  const bpf_insn& map = code[at];
  return map.code == kWideLoad && map.src_reg == BPF_PSEUDO_MAP_IDX && map.dst_reg == BPF_REG_1 &&
         is_lookup(code[at + 2]);
}

// "if r0 == 0 goto", forward: the test of what a lookup has returned.
constexpr bool is_null_test(std::span<const bpf_insn> code, size_t at) {
  if (at >= code.size()) return false;
  const bpf_insn& test = code[at];
  return test.code == (BPF_JMP | BPF_JEQ | BPF_K) && test.dst_reg == BPF_REG_0 && test.imm == 0 && test.off >= 0 &&
         at + 1 + static_cast<size_t>(test.off) < code.size();
}

}  // namespace trama::ebpf
