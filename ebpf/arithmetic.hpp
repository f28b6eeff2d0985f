// What operations compute: the kernel's rules for division by zero, shifts, and the upper half of a register after a
// 32-bit operation.
#pragma once
#include <cstdint>
#include <type_traits>

#include "ebpf/instruction.hpp"

namespace trama::ebpf {

// Word: uint64_t or uint32_t; a 32-bit result is zero-extended by the caller. False: no such operation.
template <class Word>
constexpr bool compute(uint8_t operation, Word& a, Word b) {
  constexpr Word kShiftMask = sizeof(Word) * 8 - 1;
  switch (operation) {
    case BPF_ADD: a += b; return true;
    case BPF_SUB: a -= b; return true;
    case BPF_MUL: a *= b; return true;
    case BPF_DIV: a = b != 0 ? a / b : 0; return true;
    case BPF_MOD: a = b != 0 ? a % b : a; return true;
    case BPF_OR: a |= b; return true;
    case BPF_AND: a &= b; return true;
    case BPF_XOR: a ^= b; return true;
    case BPF_MOV: a = b; return true;
    case BPF_LSH: a <<= b & kShiftMask; return true;
    case BPF_RSH: a >>= b & kShiftMask; return true;
    case BPF_ARSH: a = static_cast<Word>(static_cast<std::make_signed_t<Word>>(a) >> (b & kShiftMask)); return true;
    case BPF_NEG: a = Word{0} - a; return true;
    default: return false;
  }
}

// BPF_END: the low `bits` in another byte order, the rest 0. False: bits is not 16, 32 or 64.
constexpr bool swap_bytes(uint64_t& a, int32_t bits, bool to_big_endian) {
  switch (bits) {
    case 16: a = to_big_endian ? __builtin_bswap16(static_cast<uint16_t>(a)) : static_cast<uint16_t>(a); return true;
    case 32: a = to_big_endian ? __builtin_bswap32(static_cast<uint32_t>(a)) : static_cast<uint32_t>(a); return true;
    case 64: a = to_big_endian ? __builtin_bswap64(a) : a; return true;
    default: return false;
  }
}

// Whether a conditional jump is taken. False in `known`: no such condition.
template <class Word>
constexpr bool compare(uint8_t condition, Word a, Word b, bool& known) {
  const auto signed_a = static_cast<std::make_signed_t<Word>>(a), signed_b = static_cast<std::make_signed_t<Word>>(b);
  switch (condition) {
    case BPF_JEQ: return a == b;
    case BPF_JNE: return a != b;
    case BPF_JGT: return a > b;
    case BPF_JGE: return a >= b;
    case BPF_JLT: return a < b;
    case BPF_JLE: return a <= b;
    case BPF_JSET: return (a & b) != 0;
    case BPF_JSGT: return signed_a > signed_b;
    case BPF_JSGE: return signed_a >= signed_b;
    case BPF_JSLT: return signed_a < signed_b;
    case BPF_JSLE: return signed_a <= signed_b;
    default: known = false; return false;
  }
}

}  // namespace trama::ebpf
