#include "ebpf/scalar_bounds.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "ebpf/arithmetic.hpp"

namespace trama::ebpf {
namespace {

// a + b, a * b, a << b, or the cap where that is more.
uint64_t capped(unsigned __int128 value, uint64_t cap) { return value > cap ? cap : static_cast<uint64_t>(value); }

uint64_t all_bits_below(uint64_t value) { return value == 0 ? 0 : ~uint64_t{0} >> std::countl_zero(value); }

// a and b: the most that the operands can be, within `cap`.
uint64_t most_of(const bpf_insn& instruction, uint64_t a, uint64_t b, uint64_t cap, bool b_exact) {
  const unsigned __int128 wide = a;
  const unsigned bits = cap == kAnyNumber ? 64 : 32;
  const auto shift = static_cast<unsigned>(b & (bits - 1));
  const bool negative = (a >> (bits - 1)) != 0;
  switch (operation_of(instruction)) {
    case BPF_MOV: return b;
    case BPF_AND: return std::min(a, b);
    case BPF_OR:
    case BPF_XOR: return all_bits_below(std::max(a, b));
    case BPF_ADD: return capped(wide + b, cap);
    case BPF_MUL: return capped(wide * b, cap);
    case BPF_DIV: return b_exact && b != 0 ? a / b : a;
    case BPF_MOD: return b_exact && b != 0 ? std::min(a, b - 1) : a;
    case BPF_LSH: return b_exact ? capped(wide << shift, cap) : cap;
    case BPF_RSH: return b_exact ? a >> shift : a;
    case BPF_ARSH: return negative ? cap : b_exact ? a >> shift : a;
    default: return cap;
  }
}

}  // namespace

Register bound_of(const bpf_insn& instruction, const Register& a, const Register& b) {
  const bool wide = class_of(instruction) == BPF_ALU64;
  const uint64_t cap = wide ? kAnyNumber : 0xffffffff;
  const auto operand = [cap](const Register& one) {
    Register number = Register::scalar(one.base == Base::scalar ? one.most : kAnyNumber, one.origins);
    number.exact = one.base == Base::scalar && one.exact;
    if (number.most > cap) number.most = number.exact ? number.most & cap : cap;
    return number;
  };
  const uint64_t origins = a.origins | b.origins;
  if (operation_of(instruction) == BPF_END) {
    const uint64_t most = instruction.imm == 64 ? kAnyNumber : (uint64_t{1} << instruction.imm) - 1;
    return Register::scalar(most, a.origins);
  }
  const Register x = operand(a), y = operand(b);
  if (x.exact && y.exact) {
    uint64_t result = x.most;
    auto half = static_cast<uint32_t>(result);
    if (wide)
      compute(operation_of(instruction), result, y.most);
    else
      compute(operation_of(instruction), half, static_cast<uint32_t>(y.most));
    Register known = Register::constant(wide ? result : half);
    known.origins = origins;
    return known;
  }
  Register result = Register::scalar(most_of(instruction, x.most, y.most, cap, y.exact), origins);
  if (operation_of(instruction) == BPF_MOV) result.exact = y.exact;
  return result;
}

namespace {

// A signed comparison of numbers that can't be negative is one without sign.
uint8_t without_sign(uint8_t condition, bool both_positive) {
  switch (condition) {
    case BPF_JSGT: return both_positive ? BPF_JGT : BPF_JSET;
    case BPF_JSGE: return both_positive ? BPF_JGE : BPF_JSET;
    case BPF_JSLT: return both_positive ? BPF_JLT : BPF_JSET;
    case BPF_JSLE: return both_positive ? BPF_JLE : BPF_JSET;
    default: return condition;
  }
}

void at_most(Register& one, uint64_t bound) {
  if (bound < one.most) {
    one.most = bound;
    one.exact = false;
  }
}

// x < y, or x <= y.
void learn_less(Register& x, Register& y, bool or_equal) {
  if (or_equal)
    at_most(x, y.most);
  else if (y.most != 0)
    at_most(x, y.most - 1);
}

}  // namespace

void learn_bounds(const bpf_insn& instruction, bool holds, Register& a, Register& b) {
  if (a.base != Base::scalar || b.base != Base::scalar) return;
  const bool half = class_of(instruction) == BPF_JMP32;
  if (half && (a.most > 0xffffffff || b.most > 0xffffffff)) return;
  const unsigned sign = half ? 31 : 63;
  const bool both_positive = (a.most >> sign) == 0 && (b.most >> sign) == 0;
  uint8_t condition = without_sign(operation_of(instruction), both_positive);
  if (!holds) condition = opposite_of(condition);
  switch (condition) {
    case BPF_JEQ:
      if (b.exact)
        a.most = b.most, a.exact = true;
      else
        at_most(a, b.most);
      break;
    case BPF_JGT: learn_less(b, a, false); break;
    case BPF_JGE: learn_less(b, a, true); break;
    case BPF_JLT: learn_less(a, b, false); break;
    case BPF_JLE: learn_less(a, b, true); break;
    default: break;
  }
}

}  // namespace trama::ebpf
