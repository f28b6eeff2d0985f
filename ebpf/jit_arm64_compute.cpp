// Operations on registers, and jumps.
#include <asmjit/arm/a64utils.h>

#include <cstdlib>

#include "ebpf/instruction.hpp"
#include "ebpf/jit_arm64.hpp"

namespace trama::ebpf {

using namespace asmjit::a64;

namespace {

// What additions, subtractions and comparisons take as an immediate.
constexpr int64_t kMostImmediate = 4095;

CondCode condition_code(uint8_t condition) {
  switch (condition) {
    case BPF_JEQ: return CondCode::kEQ;
    case BPF_JGT: return CondCode::kHI;
    case BPF_JGE: return CondCode::kHS;
    case BPF_JLT: return CondCode::kLO;
    case BPF_JLE: return CondCode::kLS;
    case BPF_JSGT: return CondCode::kGT;
    case BPF_JSGE: return CondCode::kGE;
    case BPF_JSLT: return CondCode::kLT;
    case BPF_JSLE: return CondCode::kLE;
    default: return CondCode::kNE;  // BPF_JNE; BPF_JSET: a bit is set
  }
}

uint64_t as_number(bool wide, int32_t immediate) {
  return wide ? static_cast<uint64_t>(int64_t{immediate}) : static_cast<uint32_t>(immediate);
}

}  // namespace

// 16 bits at a time, from zeros or from ones.
void Arm64Target::move_number(const Gp& to, uint64_t value) {
  constexpr uint64_t kPart = 0xffff;
  if ((value | kPart) == ~uint64_t{0}) {
    a_.movn(to.x(), ~value);
    return;
  }
  a_.movz(to.x(), value & kPart);
  for (uint32_t shift = 16; shift < 64; shift += 16)
    if ((value >> shift & kPart) != 0) a_.movk(to.x(), value >> shift & kPart, asmjit::Imm(shift));
}

void Arm64Target::add_number(const Gp& to, const Gp& from, int64_t value) {
  if (value >= 0 && value <= kMostImmediate) {
    a_.add(to, from, value);
  } else if (value < 0 && value >= -kMostImmediate) {
    a_.sub(to, from, -value);
  } else {
    move_number(x12, static_cast<uint64_t>(value));
    a_.add(to, from, x12);
  }
}

void Arm64Target::set(uint8_t to, uint64_t value) { move_number(register_of(to), value); }

Arm64Target::Gp Arm64Target::operand(bool wide, JitOperand from) {
  if (from.is_register) return half_or_whole(register_of(from.number), wide);
  move_number(x9, as_number(wide, from.immediate));
  return half_or_whole(x9, wide);
}

// False: there is no instruction that takes this immediate.
bool Arm64Target::compute_with_immediate(uint8_t operation, bool wide, const Gp& target, int32_t immediate) {
  const uint32_t bits = wide ? 64 : 32;
  const uint64_t number = as_number(wide, immediate);
  const bool logical = Utils::isLogicalImm(number, bits);
  const bool short_number = immediate >= -kMostImmediate && immediate <= kMostImmediate;
  const uint32_t count = static_cast<uint32_t>(immediate) & (bits - 1);
  switch (operation) {
    case BPF_MOV: move_number(target, number); return true;
    case BPF_ADD:
    case BPF_SUB:
      if (!short_number) return false;
      if ((operation == BPF_ADD) == (immediate >= 0))
        a_.add(target, target, std::abs(immediate));
      else
        a_.sub(target, target, std::abs(immediate));
      return true;
    case BPF_AND:
      if (logical) a_.and_(target, target, number);
      return logical;
    case BPF_OR:
      if (logical) a_.orr(target, target, number);
      return logical;
    case BPF_XOR:
      if (logical) a_.eor(target, target, number);
      return logical;
    case BPF_LSH: a_.lsl(target, target, count); return true;
    case BPF_RSH: a_.lsr(target, target, count); return true;
    case BPF_ARSH: a_.asr(target, target, count); return true;
    default: return false;
  }
}

// Shifts take the count modulo 64 or 32, and what is divided by 0 is 0, as programs mean it.
void Arm64Target::compute(uint8_t operation, bool wide, uint8_t to, JitOperand from) {
  const Gp target = half_or_whole(register_of(to), wide), quotient = half_or_whole(x10, wide);
  if (operation == BPF_NEG) {
    a_.neg(target, target);
    return;
  }
  if (!from.is_register && compute_with_immediate(operation, wide, target, from.immediate)) return;
  const Gp value = operand(wide, from);
  switch (operation) {
    case BPF_MOV: a_.mov(target, value); return;
    case BPF_ADD: a_.add(target, target, value); return;
    case BPF_SUB: a_.sub(target, target, value); return;
    case BPF_MUL: a_.mul(target, target, value); return;
    case BPF_AND: a_.and_(target, target, value); return;
    case BPF_OR: a_.orr(target, target, value); return;
    case BPF_XOR: a_.eor(target, target, value); return;
    case BPF_LSH: a_.lslv(target, target, value); return;
    case BPF_RSH: a_.lsrv(target, target, value); return;
    case BPF_ARSH: a_.asrv(target, target, value); return;
    case BPF_DIV: a_.udiv(target, target, value); return;
    default:  // BPF_MOD: what is left, also by 0
      a_.udiv(quotient, target, value);
      a_.msub(target, quotient, value, target);
  }
}

void Arm64Target::swap_bytes(uint8_t to, int32_t bits, bool to_big_endian) {
  const Gp target = register_of(to);
  if (bits == 16) {
    if (to_big_endian) a_.rev16(target.w(), target.w());
    a_.uxth(target.w(), target.w());
    return;
  }
  const Gp part = half_or_whole(target, bits == 64);
  if (to_big_endian)
    a_.rev(part, part);
  else if (bits == 32)
    a_.mov(part, part);
}

void Arm64Target::jump_if(uint8_t condition, bool wide, uint8_t a, JitOperand b, const Label& label) {
  const Gp left = half_or_whole(register_of(a), wide);
  const bool short_number = !b.is_register && b.immediate >= 0 && b.immediate <= kMostImmediate;
  if (condition == BPF_JSET)
    a_.tst(left, operand(wide, b));
  else if (short_number)
    a_.cmp(left, b.immediate);
  else
    a_.cmp(left, operand(wide, b));
  a_.b(condition_code(condition), label);
}

}  // namespace trama::ebpf
