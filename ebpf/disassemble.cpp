#include "ebpf/disassemble.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "ebpf/helpers.hpp"
#include "ebpf/instruction.hpp"

namespace trama::ebpf {
namespace {

std::string reg(uint32_t number) { return "r" + std::to_string(number); }
std::string half(uint32_t number) { return "w" + std::to_string(number); }

std::string offset_text(int64_t offset) {
  return offset < 0 ? "- " + std::to_string(-offset) : "+ " + std::to_string(offset);
}
std::string jump_text(int64_t offset) { return offset < 0 ? std::to_string(offset) : "+" + std::to_string(offset); }

std::string raw(const bpf_insn& instruction) {
  std::array<char, 64> text;
  const int length = std::snprintf(text.data(), text.size(), "unknown (%02x r%u r%u %d %d)", instruction.code,
                                   instruction.dst_reg, instruction.src_reg, instruction.off, instruction.imm);
  return {text.data(), static_cast<size_t>(length)};
}

std::string memory(const bpf_insn& instruction, uint32_t base) {
  return "*(u" + std::to_string(access_bytes(instruction) * 8) + " *)(" + reg(base) + " " +
         offset_text(instruction.off) + ")";
}

std::string place(const bpf_insn& instruction) {
  return "(u" + std::to_string(access_bytes(instruction) * 8) + " *)(" + reg(instruction.dst_reg) + " " +
         offset_text(instruction.off) + ")";
}

const char* alu_sign(uint8_t operation) {
  switch (operation) {
    case BPF_ADD: return "+=";
    case BPF_SUB: return "-=";
    case BPF_MUL: return "*=";
    case BPF_DIV: return "/=";
    case BPF_OR: return "|=";
    case BPF_AND: return "&=";
    case BPF_LSH: return "<<=";
    case BPF_RSH: return ">>=";
    case BPF_MOD: return "%=";
    case BPF_XOR: return "^=";
    case BPF_MOV: return "=";
    case BPF_ARSH: return "s>>=";
    default: return nullptr;
  }
}

std::string alu(const bpf_insn& instruction) {
  const bool wide = class_of(instruction) == BPF_ALU64;
  const auto name = wide ? reg : half;
  const std::string to = name(instruction.dst_reg);
  if (operation_of(instruction) == BPF_NEG) return to + " = -" + to;
  if (operation_of(instruction) == BPF_END && !wide) {
    const std::string full = reg(instruction.dst_reg);
    return full + " = " + (takes_register(instruction) ? "be" : "le") + std::to_string(instruction.imm) + " " + full;
  }
  const char* const sign = alu_sign(operation_of(instruction));
  if (!sign) return raw(instruction);
  const std::string from = takes_register(instruction) ? name(instruction.src_reg) : std::to_string(instruction.imm);
  return to + " " + sign + " " + from;
}

std::string atomic(const bpf_insn& instruction) {
  const std::string from = reg(instruction.src_reg);
  const std::string bits = std::to_string(access_bytes(instruction) * 8);
  const std::string where = reg(instruction.dst_reg) + " " + offset_text(instruction.off);
  if (instruction.imm == BPF_XCHG) return from + " = xchg_" + bits + "(" + where + ", " + from + ")";
  if (instruction.imm == BPF_CMPXCHG) return "r0 = cmpxchg_" + bits + "(" + where + ", r0, " + from + ")";
  const char *sign = nullptr, *name = nullptr;
  switch (instruction.imm & ~BPF_FETCH) {
    case BPF_ADD: sign = "+=", name = "add"; break;
    case BPF_OR: sign = "|=", name = "or"; break;
    case BPF_AND: sign = "&=", name = "and"; break;
    case BPF_XOR: sign = "^=", name = "xor"; break;
    default: return raw(instruction);
  }
  if ((instruction.imm & BPF_FETCH) != 0)
    return from + " = atomic_fetch_" + name + "(" + place(instruction) + ", " + from + ")";
  return "lock " + memory(instruction, instruction.dst_reg) + " " + sign + " " + from;
}

const char* condition_sign(uint8_t condition) {
  switch (condition) {
    case BPF_JEQ: return "==";
    case BPF_JNE: return "!=";
    case BPF_JGT: return ">";
    case BPF_JGE: return ">=";
    case BPF_JLT: return "<";
    case BPF_JLE: return "<=";
    case BPF_JSET: return "&";
    case BPF_JSGT: return "s>";
    case BPF_JSGE: return "s>=";
    case BPF_JSLT: return "s<";
    case BPF_JSLE: return "s<=";
    default: return nullptr;
  }
}

std::string jump(const bpf_insn& instruction) {
  if (is_exit(instruction)) return "exit";
  if (is_plain_jump(instruction)) return "goto " + jump_text(instruction.off);
  if (is_function_call(instruction)) return "call pc" + jump_text(instruction.imm);
  if (is_call(instruction)) {
    const char* const name = kernel_helper_name(instruction.imm);
    return "call " + (name ? std::string(name) : "unknown") + "#" + std::to_string(instruction.imm);
  }
  const char* const sign = condition_sign(operation_of(instruction));
  if (!sign) return raw(instruction);
  const auto name = class_of(instruction) == BPF_JMP ? reg : half;
  const std::string from = takes_register(instruction) ? name(instruction.src_reg) : std::to_string(instruction.imm);
  return "if " + name(instruction.dst_reg) + " " + sign + " " + from + " goto " + jump_text(instruction.off);
}

std::string map_name(const Object& object, int32_t index) {
  const auto map = static_cast<uint32_t>(index);
  return map < object.maps.size() ? object.maps[map].name : "map#" + std::to_string(index);
}

std::string wide_load(const Object& object, const bpf_insn& first, const bpf_insn& second) {
  const std::string to = reg(first.dst_reg) + " = ";
  switch (first.src_reg) {
    case BPF_PSEUDO_MAP_IDX: return to + "map[" + map_name(object, first.imm) + "]";
    case BPF_PSEUDO_MAP_IDX_VALUE:
      return to + "map[" + map_name(object, first.imm) + "][0] + " + std::to_string(second.imm);
    default: break;
  }
  std::array<char, 32> number;
  const uint64_t value = wide_constant(first, second);
  std::snprintf(number.data(), number.size(), value > 0xffff ? "0x%lx ll" : "%lu ll", value);
  return to + number.data();
}

}  // namespace

std::string disassemble(const bpf_insn& instruction) {
  switch (class_of(instruction)) {
    case BPF_ALU:
    case BPF_ALU64: return alu(instruction);
    case BPF_LDX:
      if (mode_of(instruction) != BPF_MEM) return raw(instruction);
      return reg(instruction.dst_reg) + " = " + memory(instruction, instruction.src_reg);
    case BPF_STX:
      if (is_atomic(instruction)) return atomic(instruction);
      if (mode_of(instruction) != BPF_MEM) return raw(instruction);
      return memory(instruction, instruction.dst_reg) + " = " + reg(instruction.src_reg);
    case BPF_ST:
      if (mode_of(instruction) != BPF_MEM) return raw(instruction);
      return memory(instruction, instruction.dst_reg) + " = " + std::to_string(instruction.imm);
    case BPF_LD: return raw(instruction);
    default: return jump(instruction);
  }
}

std::string disassemble(const Object& object, const Program& program, uint32_t index) {
  const bpf_insn& instruction = program.code[index];
  if (instruction.code == kWideLoad && index + 1 < program.code.size())
    return wide_load(object, instruction, program.code[index + 1]);
  if (instruction.code == 0 && index > 0 && program.code[index - 1].code == kWideLoad) return {};
  return disassemble(instruction);
}

std::string disassemble(const Object& object, const Program& program) {
  std::set<uint32_t> functions;
  for (uint32_t at = 0; at < program.code.size(); ++at)
    if (is_function_call(program.code[at])) functions.insert(at + 1 + static_cast<uint32_t>(program.code[at].imm));
  std::string text = program.name + ":\n";
  const SourceLine* shown = nullptr;
  for (uint32_t at = 0; at < program.code.size(); ++at) {
    if (functions.contains(at)) text += "function at " + std::to_string(at) + ":\n";
    const SourceLine* const line = program.line_of(at);
    if (line && line != shown && line->line != 0 && !line->text.empty())
      text += "; " + line->text + " @ " + line->file + ":" + std::to_string(line->line) + "\n";
    shown = line;
    const std::string instruction = disassemble(object, program, at);
    if (instruction.empty()) continue;
    std::array<char, 16> number;
    std::snprintf(number.data(), number.size(), "%6u: ", at);
    text += number.data() + instruction + "\n";
  }
  return text;
}

}  // namespace trama::ebpf
