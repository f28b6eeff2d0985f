// Operations on registers.
#include "tests/ebpf/assembler.hpp"
#include "tests/ebpf/conformance.hpp"

namespace trama::ebpf {
namespace {

struct Arithmetic {
  const char* name;
  int operation;
  uint64_t a, b, expected;
};

constexpr Arithmetic kArithmetic64[] = {
    {"add", BPF_ADD, 1, 2, 3},
    {"add wraps", BPF_ADD, kAllBits, 1, 0},
    {"add into the sign", BPF_ADD, kSignBit - 1, 1, kSignBit},
    {"add a negative", BPF_ADD, 5, kAllBits - 6, kAllBits - 1},
    {"sub", BPF_SUB, 5, 3, 2},
    {"sub wraps", BPF_SUB, 0, 1, kAllBits},
    {"mul", BPF_MUL, 7, 6, 42},
    {"mul of negatives", BPF_MUL, kAllBits, kAllBits, 1},
    {"mul loses the top", BPF_MUL, kUpperBit, kUpperBit, 0},
    {"mul by -2", BPF_MUL, 3, kAllBits - 1, kAllBits - 5},
    {"div", BPF_DIV, 7, 2, 3},
    {"div is unsigned", BPF_DIV, kAllBits, 2, kSignBit - 1},
    {"div by more", BPF_DIV, kSignBit, kAllBits, 0},
    {"div by zero", BPF_DIV, 5, 0, 0},
    {"mod", BPF_MOD, 7, 4, 3},
    {"mod is unsigned", BPF_MOD, kAllBits, 10, 5},
    {"mod by zero", BPF_MOD, kUpperBit + 5, 0, kUpperBit + 5},
    {"or", BPF_OR, 0x5050, 0x0a0a, 0x5a5a},
    {"or sign-extends an immediate", BPF_OR, 0, kAllBits, kAllBits},
    {"and", BPF_AND, 0xff0ff0, 0x0ff00f, 0x0f0000},
    {"and with a negative", BPF_AND, kAllBits, kAllBits - 15, kAllBits - 15},
    {"xor", BPF_XOR, 0xffff, 0x0ff0, 0xf00f},
    {"xor of the same", BPF_XOR, kAllBits, kAllBits, 0},
    {"mov", BPF_MOV, 1, kSignBit, kSignBit},
    {"mov sign-extends an immediate", BPF_MOV, 1, kAllBits - 1, kAllBits - 1},
    {"lsh", BPF_LSH, 0xff, 8, 0xff00},
    {"lsh to the top", BPF_LSH, 1, 63, kSignBit},
    {"lsh takes 6 bits: 64", BPF_LSH, 3, 64, 3},
    {"lsh takes 6 bits: 65", BPF_LSH, 3, 65, 6},
    {"rsh", BPF_RSH, 0xff00, 8, 0xff},
    {"rsh shifts zeros in", BPF_RSH, kSignBit, 63, 1},
    {"rsh takes 6 bits", BPF_RSH, kSignBit, 64, kSignBit},
    {"arsh shifts the sign in", BPF_ARSH, kSignBit, 63, kAllBits},
    {"arsh of -8", BPF_ARSH, kAllBits - 7, 1, kAllBits - 3},
    {"arsh of a positive", BPF_ARSH, kSignBit >> 1, 4, kSignBit >> 5},
    {"arsh takes 6 bits", BPF_ARSH, kSignBit, 64, kSignBit},
};

constexpr Arithmetic kArithmetic32[] = {
    {"add32", BPF_ADD, 1, 2, 3},
    {"add32 wraps", BPF_ADD, 0xffffffff, 1, 0},
    {"add32 clears the top", BPF_ADD, kUpperBit + 1, 1, 2},
    {"sub32", BPF_SUB, 5, 3, 2},
    {"sub32 wraps", BPF_SUB, 0, 1, 0xffffffff},
    {"mul32", BPF_MUL, 0xffffffff, 0xffffffff, 1},
    {"mul32 loses the top", BPF_MUL, 0x10000, 0x10000, 0},
    {"div32 is unsigned", BPF_DIV, 0xfffffffe, 2, 0x7fffffff},
    {"div32 sees low halves", BPF_DIV, kUpperBit + 7, kUpperBit + 2, 3},
    {"div32 by zero", BPF_DIV, kUpperBit + 7, 0, 0},
    {"div32 by zero in the low half", BPF_DIV, 7, kUpperBit, 0},
    {"mod32", BPF_MOD, 0xffffffff, 10, 5},
    {"mod32 sees low halves", BPF_MOD, kUpperBit + 7, kUpperBit + 4, 3},
    {"mod32 by zero clears the top", BPF_MOD, kUpperBit + 5, 0, 5},
    {"or32", BPF_OR, kUpperBit + 0x50, 0x0a, 0x5a},
    {"or32 of an immediate", BPF_OR, 0, kAllBits, 0xffffffff},
    {"and32", BPF_AND, kAllBits, 0xff0, 0xff0},
    {"and32 with a negative", BPF_AND, kAllBits, kAllBits - 15, 0xfffffff0},
    {"xor32", BPF_XOR, kUpperBit, 0, 0},
    {"mov32 cuts", BPF_MOV, 1, 0xdeadbeefcafebabe, 0xcafebabe},
    {"mov32 of an immediate", BPF_MOV, 1, kAllBits, 0xffffffff},
    {"lsh32", BPF_LSH, 1, 31, 0x80000000},
    {"lsh32 takes 5 bits: 32", BPF_LSH, 3, 32, 3},
    {"lsh32 takes 5 bits: 33", BPF_LSH, 3, 33, 6},
    {"lsh32 loses the top", BPF_LSH, 0x80000001, 1, 2},
    {"rsh32 sees the low half", BPF_RSH, kUpperBit + 0x80000000, 31, 1},
    {"rsh32 takes 5 bits", BPF_RSH, 0x80000000, 32, 0x80000000},
    {"arsh32 shifts bit 31 in", BPF_ARSH, 0x80000000, 31, 0xffffffff},
    {"arsh32 of a positive", BPF_ARSH, kUpperBit + 0x40000000, 4, 0x04000000},
    {"arsh32 takes 5 bits", BPF_ARSH, 0x80000000, 32, 0x80000000},
};

void add_binary(std::vector<ConformanceCase>& cases) {
  for (const Arithmetic& row : kArithmetic64) {
    cases.push_back(
        {row.name, Assembler().wide(0, row.a).wide(2, row.b).alu(row.operation, 0, 2).exit().code(), row.expected});
    // The same where the operand is also the destination's neighbour in machine registers that shifts and divisions
    // use.
    cases.push_back({std::string(row.name) + ", r4 by r3",
                     Assembler().wide(4, row.a).wide(3, row.b).alu(row.operation, 4, 3).mov(0, 4).exit().code(),
                     row.expected});
    cases.push_back({std::string(row.name) + ", r3 by r0",
                     Assembler().wide(3, row.a).wide(0, row.b).alu(row.operation, 3, 0).mov(0, 3).exit().code(),
                     row.expected});
    if (fits_immediate(row.b))
      cases.push_back({std::string(row.name) + ", immediate",
                       Assembler().wide(0, row.a).alu_imm(row.operation, 0, static_cast<int64_t>(row.b)).exit().code(),
                       row.expected});
  }
  for (const Arithmetic& row : kArithmetic32) {
    cases.push_back(
        {row.name, Assembler().wide(0, row.a).wide(2, row.b).alu32(row.operation, 0, 2).exit().code(), row.expected});
    cases.push_back({std::string(row.name) + ", r4 by r3",
                     Assembler().wide(4, row.a).wide(3, row.b).alu32(row.operation, 4, 3).mov(0, 4).exit().code(),
                     row.expected});
    if (fits_immediate(row.b) || row.b <= 0xffffffff)
      cases.push_back(
          {std::string(row.name) + ", immediate",
           Assembler().wide(0, row.a).alu32_imm(row.operation, 0, static_cast<int32_t>(row.b)).exit().code(),
           row.expected});
  }
}

void add_unary(std::vector<ConformanceCase>& cases) {
  const struct {
    const char* name;
    int code, bits;
    uint64_t a, expected;
  } rows[] = {
      {"neg", BPF_ALU64 | BPF_NEG, 0, 1, kAllBits},
      {"neg of zero", BPF_ALU64 | BPF_NEG, 0, 0, 0},
      {"neg of the least", BPF_ALU64 | BPF_NEG, 0, kSignBit, kSignBit},
      {"neg32", BPF_ALU | BPF_NEG, 0, 1, 0xffffffff},
      {"neg32 clears the top", BPF_ALU | BPF_NEG, 0, kUpperBit, 0},
      {"neg32 of the least", BPF_ALU | BPF_NEG, 0, 0x80000000, 0x80000000},
      {"be16", BPF_ALU | BPF_END | BPF_TO_BE, 16, 0x1122334455667788, 0x8877},
      {"be32", BPF_ALU | BPF_END | BPF_TO_BE, 32, 0x1122334455667788, 0x88776655},
      {"be64", BPF_ALU | BPF_END | BPF_TO_BE, 64, 0x1122334455667788, 0x8877665544332211},
      {"le16", BPF_ALU | BPF_END | BPF_TO_LE, 16, 0x1122334455667788, 0x7788},
      {"le32", BPF_ALU | BPF_END | BPF_TO_LE, 32, 0x1122334455667788, 0x55667788},
      {"le64", BPF_ALU | BPF_END | BPF_TO_LE, 64, 0x1122334455667788, 0x1122334455667788},
  };
  for (const auto& row : rows) {
    cases.push_back(
        {row.name, Assembler().wide(0, row.a).raw(row.code, 0, 0, 0, row.bits).exit().code(), row.expected});
    cases.push_back({std::string(row.name) + " of r9",
                     Assembler().wide(9, row.a).raw(row.code, 9, 0, 0, row.bits).mov(0, 9).exit().code(),
                     row.expected});
  }
}

}  // namespace

void add_arithmetic(std::vector<ConformanceCase>& cases) {
  add_binary(cases);
  add_unary(cases);
}

}  // namespace trama::ebpf
