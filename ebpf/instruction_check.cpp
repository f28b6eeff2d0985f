#include "ebpf/instruction_check.hpp"

#include <algorithm>
#include <iterator>

#include "ebpf/atomic_operation.hpp"
#include "ebpf/helpers.hpp"
#include "ebpf/instruction.hpp"

namespace trama::ebpf {
namespace {

constexpr const char* kUnknown = "unknown instruction";
constexpr const char* kReserved = "an unused field of the instruction isn't 0";
constexpr const char* kVersion4 = "this instruction is of set v4, which isn't supported: compile with -mcpu=v2 or v3";

std::string alu_fault(const bpf_insn& instruction) {
  const bool wide = class_of(instruction) == BPF_ALU64;
  switch (operation_of(instruction)) {
    case BPF_END:
      if (wide) return kVersion4;
      if (instruction.imm != 16 && instruction.imm != 32 && instruction.imm != 64) return kUnknown;
      return instruction.src_reg != 0 || instruction.off != 0 ? kReserved : "";
    case BPF_NEG:
      return takes_register(instruction) || instruction.src_reg != 0 || instruction.off != 0 || instruction.imm != 0
                 ? kReserved
                 : "";
    case BPF_DIV:
    case BPF_MOD:
    case BPF_MOV:
      if (instruction.off != 0) return kVersion4;
      break;
    case BPF_ADD:
    case BPF_SUB:
    case BPF_MUL:
    case BPF_OR:
    case BPF_AND:
    case BPF_LSH:
    case BPF_RSH:
    case BPF_XOR:
    case BPF_ARSH: break;
    default: return kUnknown;
  }
  if (instruction.off != 0) return kReserved;
  return takes_register(instruction) ? (instruction.imm != 0 ? kReserved : "")
                                     : (instruction.src_reg != 0 ? kReserved : "");
}

std::string wide_load_fault(const Object& object, const bpf_insn& instruction, const bpf_insn* second) {
  if (instruction.code != kWideLoad) return "loads from a packet by offset (LD_ABS, LD_IND) are not for XDP";
  if (!second) return "the program ends inside a wide load";
  if (second->code != 0 || second->dst_reg != 0 || second->src_reg != 0 || second->off != 0 || instruction.off != 0)
    return kReserved;
  const auto map = static_cast<uint32_t>(instruction.imm);
  switch (instruction.src_reg) {
    case 0: return "";
    case BPF_PSEUDO_MAP_IDX:
      if (map >= object.maps.size()) return "it names a map that isn't there";
      return second->imm != 0 ? kReserved : "";
    case BPF_PSEUDO_MAP_IDX_VALUE: {
      if (map >= object.maps.size()) return "it names a map that isn't there";
      const MapSpec& spec = object.maps[map];
      if (spec.type != BPF_MAP_TYPE_ARRAY || spec.max_entries != 1)
        return "only the value of an array of one entry has a fixed address";
      return static_cast<uint32_t>(second->imm) >= spec.value_size ? "it points outside the map's value" : "";
    }
    case BPF_PSEUDO_FUNC: return "pointers to functions (callbacks) aren't supported";
    case BPF_PSEUDO_BTF_ID: return "variables of the kernel exist only in a kernel";
    default: return "unknown kind of wide load";
  }
}

std::string atomic_fault(const bpf_insn& instruction) {
  if (access_bytes(instruction) < 4) return "atomic operations have 4 or 8 bytes";
  const bool known = std::find(std::begin(kAtomicOperations), std::end(kAtomicOperations), instruction.imm) !=
                     std::end(kAtomicOperations);
  return known ? "" : "unknown atomic operation";
}

std::string memory_fault(const bpf_insn& instruction) {
  constexpr uint8_t kSignExtended = 0x80;  // BPF_MEMSX
  if (class_of(instruction) == BPF_LDX) {
    if (mode_of(instruction) == kSignExtended) return kVersion4;
    if (mode_of(instruction) != BPF_MEM) return kUnknown;
    return instruction.imm != 0 ? kReserved : "";
  }
  if (is_atomic(instruction)) return atomic_fault(instruction);
  if (mode_of(instruction) != BPF_MEM) return kUnknown;
  if (class_of(instruction) == BPF_ST) return instruction.src_reg != 0 ? kReserved : "";
  return instruction.imm != 0 ? kReserved : "";
}

std::string call_fault(const bpf_insn& instruction) {
  if (instruction.dst_reg != 0 || instruction.off != 0) return kReserved;
  switch (instruction.src_reg) {
    case 0: break;
    case BPF_PSEUDO_CALL: return "";
    case BPF_PSEUDO_KFUNC_CALL: return "functions of the kernel (kfuncs) exist only in a kernel";
    default: return "unknown kind of call";
  }
  if (find_helper(instruction.imm)) return "";
  const char* const name = kernel_helper_name(instruction.imm);
  return std::string("helper ") + (name ? name : "number") + " (" + std::to_string(instruction.imm) +
         ") isn't supported";
}

std::string jump_fault(const bpf_insn& instruction) {
  const bool jump_32 = class_of(instruction) == BPF_JMP32;
  switch (operation_of(instruction)) {
    case BPF_EXIT:
    case BPF_CALL:
      if (jump_32 || takes_register(instruction)) return kUnknown;
      if (operation_of(instruction) == BPF_CALL) return call_fault(instruction);
      return instruction.dst_reg != 0 || instruction.src_reg != 0 || instruction.off != 0 || instruction.imm != 0
                 ? kReserved
                 : "";
    case BPF_JA:
      if (jump_32) return kVersion4;
      if (takes_register(instruction)) return kUnknown;
      return instruction.dst_reg != 0 || instruction.src_reg != 0 || instruction.imm != 0 ? kReserved : "";
    case BPF_JEQ:
    case BPF_JGT:
    case BPF_JGE:
    case BPF_JSET:
    case BPF_JNE:
    case BPF_JSGT:
    case BPF_JSGE:
    case BPF_JLT:
    case BPF_JLE:
    case BPF_JSLT:
    case BPF_JSLE: break;
    default: return kUnknown;
  }
  return takes_register(instruction) ? (instruction.imm != 0 ? kReserved : "")
                                     : (instruction.src_reg != 0 ? kReserved : "");
}

bool writes_register(const bpf_insn& instruction, uint8_t number) {
  switch (class_of(instruction)) {
    case BPF_ALU:
    case BPF_ALU64:
    case BPF_LDX:
    case BPF_LD: return instruction.dst_reg == number;
    case BPF_STX:
      return is_atomic(instruction) && instruction.src_reg == number && (instruction.imm & BPF_FETCH) != 0 &&
             instruction.imm != BPF_CMPXCHG;
    default: return false;
  }
}

}  // namespace

std::string instruction_fault(const Object& object, const bpf_insn& instruction, const bpf_insn* second) {
  constexpr uint8_t kFramePointer = 10;
  if (instruction.dst_reg > kFramePointer || instruction.src_reg > kFramePointer) return "there is no such register";
  if (writes_register(instruction, kFramePointer)) return "r10 is read-only";
  switch (class_of(instruction)) {
    case BPF_ALU:
    case BPF_ALU64: return alu_fault(instruction);
    case BPF_LD: return wide_load_fault(object, instruction, second);
    case BPF_LDX:
    case BPF_ST:
    case BPF_STX: return memory_fault(instruction);
    default: return jump_fault(instruction);
  }
}

}  // namespace trama::ebpf
