// The parts of an instruction, by name. Numbers: Documentation/bpf/instruction-set.rst of the kernel.
#pragma once
#include <linux/bpf.h>

#include <cstdint>

namespace trama::ebpf {

constexpr uint8_t kWideLoad = BPF_LD | BPF_IMM | BPF_DW;  // two instructions long

constexpr uint8_t class_of(const bpf_insn& instruction) { return instruction.code & 0x07; }
constexpr uint8_t operation_of(const bpf_insn& instruction) { return instruction.code & 0xf0; }
constexpr uint8_t mode_of(const bpf_insn& instruction) { return instruction.code & 0xe0; }
constexpr bool takes_register(const bpf_insn& instruction) { return (instruction.code & BPF_X) != 0; }

// Bytes of a load, store or atomic.
constexpr uint32_t access_bytes(const bpf_insn& instruction) {
  switch (instruction.code & 0x18) {
    case BPF_B: return 1;
    case BPF_H: return 2;
    case BPF_W: return 4;
    default: return 8;
  }
}

constexpr bool is_jump_class(const bpf_insn& instruction) {
  return class_of(instruction) == BPF_JMP || class_of(instruction) == BPF_JMP32;
}
constexpr bool is_exit(const bpf_insn& instruction) { return instruction.code == (BPF_JMP | BPF_EXIT); }
constexpr bool is_call(const bpf_insn& instruction) { return instruction.code == (BPF_JMP | BPF_CALL); }
constexpr bool is_function_call(const bpf_insn& instruction) {
  return is_call(instruction) && instruction.src_reg == BPF_PSEUDO_CALL;
}
constexpr bool is_helper_call(const bpf_insn& instruction) { return is_call(instruction) && instruction.src_reg == 0; }
// Jumps with an offset: neither calls nor exit.
constexpr bool is_jump(const bpf_insn& instruction) {
  return is_jump_class(instruction) && operation_of(instruction) != BPF_CALL && operation_of(instruction) != BPF_EXIT;
}
// Of a jump's condition what is true where it isn't; 0 for BPF_JSET, which has none.
constexpr uint8_t opposite_of(uint8_t condition) {
  switch (condition) {
    case BPF_JEQ: return BPF_JNE;
    case BPF_JNE: return BPF_JEQ;
    case BPF_JGT: return BPF_JLE;
    case BPF_JLE: return BPF_JGT;
    case BPF_JGE: return BPF_JLT;
    case BPF_JLT: return BPF_JGE;
    case BPF_JSGT: return BPF_JSLE;
    case BPF_JSLE: return BPF_JSGT;
    case BPF_JSGE: return BPF_JSLT;
    case BPF_JSLT: return BPF_JSGE;
    default: return 0;
  }
}

constexpr bool is_plain_jump(const bpf_insn& instruction) { return instruction.code == (BPF_JMP | BPF_JA); }
constexpr bool is_atomic(const bpf_insn& instruction) {
  return class_of(instruction) == BPF_STX && mode_of(instruction) == BPF_ATOMIC;
}

// The immediate as 64-bit operations take it.
constexpr uint64_t immediate_64(const bpf_insn& instruction) { return static_cast<uint64_t>(int64_t{instruction.imm}); }

// The constant of a wide load whose src_reg is 0.
constexpr uint64_t wide_constant(const bpf_insn& first, const bpf_insn& second) {
  return static_cast<uint32_t>(first.imm) | uint64_t{static_cast<uint32_t>(second.imm)} << 32;
}

}  // namespace trama::ebpf
