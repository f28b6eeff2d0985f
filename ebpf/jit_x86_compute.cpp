// Operations on registers, and jumps.
#include "ebpf/instruction.hpp"
#include "ebpf/jit_x86.hpp"

namespace trama::ebpf {

using namespace asmjit::x86;

namespace {

// Operations that take any register, or an immediate of 32 bits, as the second operand.
Inst::Id simple_instruction(uint8_t operation) {
  switch (operation) {
    case BPF_ADD: return Inst::kIdAdd;
    case BPF_SUB: return Inst::kIdSub;
    case BPF_OR: return Inst::kIdOr;
    case BPF_AND: return Inst::kIdAnd;
    default: return Inst::kIdXor;
  }
}

Inst::Id shift_instruction(uint8_t operation) {
  switch (operation) {
    case BPF_LSH: return Inst::kIdShl;
    case BPF_RSH: return Inst::kIdShr;
    default: return Inst::kIdSar;
  }
}

CondCode condition_code(uint8_t condition) {
  switch (condition) {
    case BPF_JEQ: return CondCode::kEqual;
    case BPF_JGT: return CondCode::kUnsignedGT;
    case BPF_JGE: return CondCode::kUnsignedGE;
    case BPF_JLT: return CondCode::kUnsignedLT;
    case BPF_JLE: return CondCode::kUnsignedLE;
    case BPF_JSGT: return CondCode::kSignedGT;
    case BPF_JSGE: return CondCode::kSignedGE;
    case BPF_JSLT: return CondCode::kSignedLT;
    case BPF_JSLE: return CondCode::kSignedLE;
    default: return CondCode::kNotEqual;  // BPF_JNE; BPF_JSET: a bit is set
  }
}

}  // namespace

void X86Target::move_number(const Gp& to, uint64_t value) {
  if (value == 0)
    a_.xor_(to.r32(), to.r32());
  else if (value <= UINT32_MAX)
    a_.mov(to.r32(), asmjit::imm(static_cast<uint32_t>(value)));
  else
    a_.mov(to, asmjit::imm(static_cast<int64_t>(value)));
}

void X86Target::set(uint8_t to, uint64_t value) { move_number(register_of(to), value); }

void X86Target::move(bool wide, uint8_t to, JitOperand from) {
  if (from.is_register)
    a_.mov(half_or_whole(register_of(to), wide), half_or_whole(register_of(from.number), wide));
  else
    set(to, wide ? static_cast<uint64_t>(int64_t{from.immediate}) : static_cast<uint32_t>(from.immediate));
}

void X86Target::compute(uint8_t operation, bool wide, uint8_t to, JitOperand from) {
  const Gp target = half_or_whole(register_of(to), wide);
  const Gp source = half_or_whole(register_of(from.number), wide);
  switch (operation) {
    case BPF_MOV: return move(wide, to, from);
    case BPF_NEG: a_.neg(target); return;
    case BPF_LSH:
    case BPF_RSH:
    case BPF_ARSH: return shift(operation, wide, to, from);
    case BPF_DIV:
    case BPF_MOD: return divide(operation, wide, to, from);
    case BPF_MUL:
      if (from.is_register)
        a_.imul(target, source);
      else
        a_.imul(target, target, from.immediate);
      return;
    default: break;
  }
  if (from.is_register)
    a_.emit(simple_instruction(operation), target, source);
  else
    a_.emit(simple_instruction(operation), target, asmjit::imm(from.immediate));
}

void X86Target::add(uint8_t to, uint8_t a, int32_t b) { a_.lea(register_of(to), ptr(register_of(a), b)); }

// The processor takes the count modulo 64 or 32, as programs mean it, and from no register but cl, which is r4.
void X86Target::shift(uint8_t operation, bool wide, uint8_t to, JitOperand from) {
  const Gp target = half_or_whole(register_of(to), wide), shifted = half_or_whole(r10, wide);
  const Inst::Id instruction = shift_instruction(operation);
  if (!from.is_register) {
    a_.emit(instruction, target, asmjit::imm(from.immediate & (wide ? 63 : 31)));
    return;
  }
  const Gp count = register_of(from.number);
  a_.mov(shifted, target);
  if (count.id() != rcx.id()) {
    a_.mov(r11, rcx);
    a_.mov(rcx, count);
  }
  a_.emit(instruction, shifted, cl);
  if (count.id() != rcx.id()) a_.mov(rcx, r11);
  a_.mov(target, shifted);
}

void X86Target::divide(uint8_t operation, bool wide, uint8_t to, JitOperand from) {
  const bool remainder = operation == BPF_MOD;
  const Gp target = half_or_whole(register_of(to), wide), divisor = half_or_whole(r10, wide);
  const Label by_zero = label(), done = label();
  if (from.is_register)
    a_.mov(divisor, half_or_whole(register_of(from.number), wide));
  else
    move_number(r10, wide ? static_cast<uint64_t>(int64_t{from.immediate}) : static_cast<uint32_t>(from.immediate));
  a_.test(divisor, divisor);
  a_.jz(by_zero);
  divide_by(divisor, wide, to, remainder);
  a_.jmp(done);
  a_.bind(by_zero);
  if (!remainder)
    a_.xor_(target.r32(), target.r32());
  else if (!wide)
    a_.mov(target, target);  // clears the upper half
  a_.bind(done);
}

// The processor divides rdx:rax, which are r3 and r0.
void X86Target::divide_by(const Gp& divisor, bool wide, uint8_t to, bool remainder) {
  const Gp target = half_or_whole(register_of(to), wide);
  a_.mov(r11, rax);
  a_.mov(r9, rdx);
  a_.mov(half_or_whole(rax, wide), target);
  a_.xor_(edx, edx);
  a_.div(divisor);
  a_.mov(divisor, half_or_whole(remainder ? rdx : rax, wide));
  a_.mov(rax, r11);
  a_.mov(rdx, r9);
  a_.mov(target, divisor);
}

void X86Target::swap_bytes(uint8_t to, int32_t bits, bool to_big_endian) {
  const Gp target = register_of(to);
  if (bits == 16) {
    if (to_big_endian) a_.rol(target.r16(), 8);
    a_.movzx(target.r32(), target.r16());
    return;
  }
  const Gp part = half_or_whole(target, bits == 64);
  if (to_big_endian)
    a_.bswap(part);
  else if (bits == 32)
    a_.mov(part, part);
}

void X86Target::jump_if(uint8_t condition, bool wide, uint8_t a, JitOperand b, const Label& label) {
  const Gp left = half_or_whole(register_of(a), wide), right = half_or_whole(register_of(b.number), wide);
  const bool equality = condition == BPF_JEQ || condition == BPF_JNE;
  if (b.is_register)
    a_.emit(condition == BPF_JSET ? Inst::kIdTest : Inst::kIdCmp, left, right);
  else if (condition == BPF_JSET)
    a_.test(left, b.immediate);
  else if (equality && b.immediate == 0)
    a_.test(left, left);
  else
    a_.cmp(left, b.immediate);
  a_.j(condition_code(condition), label);
}

}  // namespace trama::ebpf
