#include "tests/ebpf/conformance.hpp"

#include <array>
#include <limits>

#include "tests/ebpf/assembler.hpp"

namespace trama::ebpf {
namespace {

constexpr uint64_t kMax = ~uint64_t{0}, kTop = uint64_t{1} << 63;
constexpr uint64_t kUpper = uint64_t{1} << 32;  // what 32-bit operations must neither see nor keep

struct Arithmetic {
  const char* name;
  int operation;
  uint64_t a, b, expected;
};

constexpr Arithmetic kArithmetic64[] = {
    {"add", BPF_ADD, 1, 2, 3},
    {"add wraps", BPF_ADD, kMax, 1, 0},
    {"add into the sign", BPF_ADD, kTop - 1, 1, kTop},
    {"add a negative", BPF_ADD, 5, kMax - 6, kMax - 1},
    {"sub", BPF_SUB, 5, 3, 2},
    {"sub wraps", BPF_SUB, 0, 1, kMax},
    {"mul", BPF_MUL, 7, 6, 42},
    {"mul of negatives", BPF_MUL, kMax, kMax, 1},
    {"mul loses the top", BPF_MUL, kUpper, kUpper, 0},
    {"mul by -2", BPF_MUL, 3, kMax - 1, kMax - 5},
    {"div", BPF_DIV, 7, 2, 3},
    {"div is unsigned", BPF_DIV, kMax, 2, kTop - 1},
    {"div by more", BPF_DIV, kTop, kMax, 0},
    {"div by zero", BPF_DIV, 5, 0, 0},
    {"mod", BPF_MOD, 7, 4, 3},
    {"mod is unsigned", BPF_MOD, kMax, 10, 5},
    {"mod by zero", BPF_MOD, kUpper + 5, 0, kUpper + 5},
    {"or", BPF_OR, 0x5050, 0x0a0a, 0x5a5a},
    {"or sign-extends an immediate", BPF_OR, 0, kMax, kMax},
    {"and", BPF_AND, 0xff0ff0, 0x0ff00f, 0x0f0000},
    {"and with a negative", BPF_AND, kMax, kMax - 15, kMax - 15},
    {"xor", BPF_XOR, 0xffff, 0x0ff0, 0xf00f},
    {"xor of the same", BPF_XOR, kMax, kMax, 0},
    {"mov", BPF_MOV, 1, kTop, kTop},
    {"mov sign-extends an immediate", BPF_MOV, 1, kMax - 1, kMax - 1},
    {"lsh", BPF_LSH, 0xff, 8, 0xff00},
    {"lsh to the top", BPF_LSH, 1, 63, kTop},
    {"lsh takes 6 bits: 64", BPF_LSH, 3, 64, 3},
    {"lsh takes 6 bits: 65", BPF_LSH, 3, 65, 6},
    {"rsh", BPF_RSH, 0xff00, 8, 0xff},
    {"rsh shifts zeros in", BPF_RSH, kTop, 63, 1},
    {"rsh takes 6 bits", BPF_RSH, kTop, 64, kTop},
    {"arsh shifts the sign in", BPF_ARSH, kTop, 63, kMax},
    {"arsh of -8", BPF_ARSH, kMax - 7, 1, kMax - 3},
    {"arsh of a positive", BPF_ARSH, kTop >> 1, 4, kTop >> 5},
    {"arsh takes 6 bits", BPF_ARSH, kTop, 64, kTop},
};

constexpr Arithmetic kArithmetic32[] = {
    {"add32", BPF_ADD, 1, 2, 3},
    {"add32 wraps", BPF_ADD, 0xffffffff, 1, 0},
    {"add32 clears the top", BPF_ADD, kUpper + 1, 1, 2},
    {"sub32", BPF_SUB, 5, 3, 2},
    {"sub32 wraps", BPF_SUB, 0, 1, 0xffffffff},
    {"mul32", BPF_MUL, 0xffffffff, 0xffffffff, 1},
    {"mul32 loses the top", BPF_MUL, 0x10000, 0x10000, 0},
    {"div32 is unsigned", BPF_DIV, 0xfffffffe, 2, 0x7fffffff},
    {"div32 sees low halves", BPF_DIV, kUpper + 7, kUpper + 2, 3},
    {"div32 by zero", BPF_DIV, kUpper + 7, 0, 0},
    {"div32 by zero in the low half", BPF_DIV, 7, kUpper, 0},
    {"mod32", BPF_MOD, 0xffffffff, 10, 5},
    {"mod32 sees low halves", BPF_MOD, kUpper + 7, kUpper + 4, 3},
    {"mod32 by zero clears the top", BPF_MOD, kUpper + 5, 0, 5},
    {"or32", BPF_OR, kUpper + 0x50, 0x0a, 0x5a},
    {"or32 of an immediate", BPF_OR, 0, kMax, 0xffffffff},
    {"and32", BPF_AND, kMax, 0xff0, 0xff0},
    {"and32 with a negative", BPF_AND, kMax, kMax - 15, 0xfffffff0},
    {"xor32", BPF_XOR, kUpper, 0, 0},
    {"mov32 cuts", BPF_MOV, 1, 0xdeadbeefcafebabe, 0xcafebabe},
    {"mov32 of an immediate", BPF_MOV, 1, kMax, 0xffffffff},
    {"lsh32", BPF_LSH, 1, 31, 0x80000000},
    {"lsh32 takes 5 bits: 32", BPF_LSH, 3, 32, 3},
    {"lsh32 takes 5 bits: 33", BPF_LSH, 3, 33, 6},
    {"lsh32 loses the top", BPF_LSH, 0x80000001, 1, 2},
    {"rsh32 sees the low half", BPF_RSH, kUpper + 0x80000000, 31, 1},
    {"rsh32 takes 5 bits", BPF_RSH, 0x80000000, 32, 0x80000000},
    {"arsh32 shifts bit 31 in", BPF_ARSH, 0x80000000, 31, 0xffffffff},
    {"arsh32 of a positive", BPF_ARSH, kUpper + 0x40000000, 4, 0x04000000},
    {"arsh32 takes 5 bits", BPF_ARSH, 0x80000000, 32, 0x80000000},
};

bool fits_immediate(uint64_t value) {
  const auto number = static_cast<int64_t>(value);
  return number >= std::numeric_limits<int32_t>::min() && number <= std::numeric_limits<int32_t>::max();
}

void add_arithmetic(std::vector<ConformanceCase>& cases) {
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
      {"neg", BPF_ALU64 | BPF_NEG, 0, 1, kMax},
      {"neg of zero", BPF_ALU64 | BPF_NEG, 0, 0, 0},
      {"neg of the least", BPF_ALU64 | BPF_NEG, 0, kTop, kTop},
      {"neg32", BPF_ALU | BPF_NEG, 0, 1, 0xffffffff},
      {"neg32 clears the top", BPF_ALU | BPF_NEG, 0, kUpper, 0},
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

constexpr std::array kConditions = {
    std::pair{"jeq", BPF_JEQ},   std::pair{"jne", BPF_JNE},   std::pair{"jgt", BPF_JGT},   std::pair{"jge", BPF_JGE},
    std::pair{"jlt", BPF_JLT},   std::pair{"jle", BPF_JLE},   std::pair{"jset", BPF_JSET}, std::pair{"jsgt", BPF_JSGT},
    std::pair{"jsge", BPF_JSGE}, std::pair{"jslt", BPF_JSLT}, std::pair{"jsle", BPF_JSLE},
};

struct Comparison {
  const char* name;
  uint64_t a, b;
  // Whether each condition of kConditions is true: eq ne gt ge lt le set sgt sge slt sle.
  const char* wide;
  const char* half;
};

constexpr Comparison kComparisons[] = {
    {"1 and 2", 1, 2, "01001100011", "01001100011"},
    {"2 and 1", 2, 1, "01110001100", "01110001100"},
    {"5 and 5", 5, 5, "10010110101", "10010110101"},
    {"0 and 0", 0, 0, "10010100101", "10010100101"},
    {"-1 and 1", kMax, 1, "01110010011", "01110010011"},
    {"1 and -1", 1, kMax, "01001111100", "01001111100"},
    {"-2 and -1", kMax - 1, kMax, "01001110011", "01001110011"},
    {"least and most", kTop, kTop - 1, "01110000011", "01001101100"},
    {"2^32 and 0", kUpper, 0, "01110001100", "10010100101"},
    {"low halves alike", kUpper + 7, 2 * kUpper + 7, "01001110011", "10010110101"},
    {"2^31 and 2^31-1", 0x80000000, 0x7fffffff, "01110001100", "01110000011"},
};

void add_jumps(std::vector<ConformanceCase>& cases) {
  const auto add = [&cases](const std::string& name, const Assembler& jump, bool taken) {
    Assembler whole = jump;
    cases.push_back({name, whole.exit().label("taken").mov_imm(0, 1).exit().code(), taken ? 1u : 0u});
  };
  for (const Comparison& row : kComparisons)
    for (size_t index = 0; index < kConditions.size(); ++index) {
      const auto& [condition_name, condition] = kConditions[index];
      const std::string name = std::string(condition_name) + " of " + row.name;
      const bool wide = row.wide[index] == '1', half = row.half[index] == '1';
      const auto b = static_cast<int64_t>(row.b);
      const Assembler start = Assembler().wide(6, row.a).wide(7, row.b).mov_imm(0, 0);
      add(name, Assembler(start).jump(condition, 6, 7, "taken"), wide);
      add(name + ", 32 bits", Assembler(start).jump32(condition, 6, 7, "taken"), half);
      if (!fits_immediate(row.b)) continue;
      add(name + ", immediate", Assembler(start).jump_imm(condition, 6, b, "taken"), wide);
      add(name + ", 32 bits, immediate", Assembler(start).jump32_imm(condition, 6, b, "taken"), half);
    }
  cases.push_back({"ja", Assembler().mov_imm(0, 1).jump("over").mov_imm(0, 2).label("over").exit().code(), 1});
  cases.push_back(
      {"ja backward",
       Assembler().mov_imm(0, 1).jump("down").label("up").mov_imm(0, 3).exit().label("down").jump("up").code(), 3});
  cases.push_back({"a loop of ten",
                   Assembler()
                       .mov_imm(0, 0)
                       .mov_imm(1, 10)
                       .label("again")
                       .alu(BPF_ADD, 0, 1)
                       .add_imm(1, -1)
                       .jump_imm(BPF_JNE, 1, 0, "again")
                       .exit()
                       .code(),
                   55});
}

void add_memory(std::vector<ConformanceCase>& cases) {
  const struct {
    const char* name;
    int size;
    uint64_t kept;
  } sizes[] = {{"byte", BPF_B, 0xef},
               {"half word", BPF_H, 0xcdef},
               {"word", BPF_W, 0x89abcdef},
               {"double word", BPF_DW, 0x123456789abcdef}};
  for (const auto& size : sizes) {
    const std::string name = size.name;
    const Assembler start =
        Assembler().wide(2, 0x0123456789abcdef).store_imm(BPF_DW, 10, -16, -1).store_imm(BPF_DW, 10, -8, -1);
    cases.push_back({name + " stored and loaded with zeros above",
                     Assembler(start).store(size.size, 10, -16, 2).load(size.size, 0, 10, -16).exit().code(),
                     size.kept});
    const uint64_t mask = size.size == BPF_DW  ? kMax
                          : size.size == BPF_W ? 0xffffffff
                          : size.size == BPF_H ? 0xffff
                                               : 0xff;
    cases.push_back({name + " stored leaves what is beside it",
                     Assembler(start).store(size.size, 10, -16, 2).load(BPF_DW, 0, 10, -16).exit().code(),
                     (kMax & ~mask) | size.kept});
    cases.push_back({name + " immediate is sign-extended",
                     Assembler(start)
                         .store_imm(BPF_DW, 10, -16, 0)
                         .store_imm(size.size, 10, -16, -2)
                         .load(BPF_DW, 0, 10, -16)
                         .exit()
                         .code(),
                     mask - 1});
    cases.push_back({name + " not aligned",
                     Assembler(start).store(size.size, 10, -13, 2).load(size.size, 0, 10, -13).exit().code(),
                     size.kept});
    cases.push_back(
        {name + " through another register",
         Assembler(start).mov(8, 10).add_imm(8, -500).store(size.size, 8, 4, 2).load(size.size, 0, 8, 4).exit().code(),
         size.kept});
  }
  cases.push_back({"wide load", Assembler().wide(0, 0x8000000180000001).exit().code(), 0x8000000180000001});
  cases.push_back({"stack that was never written is zero", Assembler().load(BPF_DW, 0, 10, -512).exit().code(), 0});
}

// Each case leaves two results: what the register holds afterwards, and what the memory does.
struct Atomic {
  const char* name;
  int operation;
  uint64_t memory, source, r0;
  uint64_t memory_after, source_after, r0_after;
};

constexpr uint64_t kA = 0xf0f0f0f0f0f0f0f0, kB = 0xff00ff00ff00ff00;
constexpr Atomic kAtomics64[] = {
    {"add", BPF_ADD, kMax, 2, 9, 1, 2, 9},
    {"or", BPF_OR, kA, kB, 9, 0xfff0fff0fff0fff0, kB, 9},
    {"and", BPF_AND, kA, kB, 9, 0xf000f000f000f000, kB, 9},
    {"xor", BPF_XOR, kA, kB, 9, 0x0ff00ff00ff00ff0, kB, 9},
    {"fetch add", BPF_ADD | BPF_FETCH, kMax, 2, 9, 1, kMax, 9},
    {"fetch or", BPF_OR | BPF_FETCH, kA, kB, 9, 0xfff0fff0fff0fff0, kA, 9},
    {"fetch and", BPF_AND | BPF_FETCH, kA, kB, 9, 0xf000f000f000f000, kA, 9},
    {"fetch xor", BPF_XOR | BPF_FETCH, kA, kB, 9, 0x0ff00ff00ff00ff0, kA, 9},
    {"xchg", BPF_XCHG, kA, kB, 9, kB, kA, 9},
    {"cmpxchg of the same", BPF_CMPXCHG, kA, kB, kA, kB, kB, kA},
    {"cmpxchg of another", BPF_CMPXCHG, kA, kB, 9, kA, kB, kA},
};
// Memory holds 0xaaaaaaaa above the word; it must stay.
constexpr uint64_t kAbove = 0xaaaaaaaaull << 32;
constexpr Atomic kAtomics32[] = {
    {"add32", BPF_ADD, kAbove | 0xffffffff, 2, 9, kAbove | 1, 2, 9},
    {"or32", BPF_OR, kAbove | 0xf0, kMax << 32 | 0x0f, 9, kAbove | 0xff, kMax << 32 | 0x0f, 9},
    {"and32", BPF_AND, kAbove | 0xf0, 0xff, 9, kAbove | 0xf0, 0xff, 9},
    {"xor32", BPF_XOR, kAbove | 0xf0, 0xff, 9, kAbove | 0x0f, 0xff, 9},
    {"fetch add32", BPF_ADD | BPF_FETCH, kAbove | 0xffffffff, kMax, 9, kAbove | 0xfffffffe, 0xffffffff, 9},
    {"fetch or32", BPF_OR | BPF_FETCH, kAbove | 0xf0, kMax << 32 | 0x0f, 9, kAbove | 0xff, 0xf0, 9},
    {"fetch and32", BPF_AND | BPF_FETCH, kAbove | 0xf0, kUpper | 0x3f, 9, kAbove | 0x30, 0xf0, 9},
    {"fetch xor32", BPF_XOR | BPF_FETCH, kAbove | 0xf0, kUpper | 0xff, 9, kAbove | 0x0f, 0xf0, 9},
    {"xchg32", BPF_XCHG, kAbove | 5, kUpper | 6, 9, kAbove | 6, 5, 9},
    {"cmpxchg32 of the same", BPF_CMPXCHG, kAbove | 5, 6, 5, kAbove | 6, 6, 5},
    {"cmpxchg32 compares low halves", BPF_CMPXCHG, kAbove | 5, 6, kUpper | 5, kAbove | 6, 6, 5},
    {"cmpxchg32 of another", BPF_CMPXCHG, kAbove | 0x80000005, 6, 9, kAbove | 0x80000005, 6, 0x80000005},
};

void add_atomic(std::vector<ConformanceCase>& cases, const Atomic& row, int size) {
  const Assembler start = Assembler()
                              .wide(1, row.memory)
                              .store(BPF_DW, 10, -8, 1)
                              .wide(7, row.source)
                              .wide(0, row.r0)
                              .atomic(size, row.operation, 10, -8, 7);
  const std::string name = std::string("atomic ") + row.name;
  cases.push_back({name + ": memory", Assembler(start).load(BPF_DW, 0, 10, -8).exit().code(), row.memory_after});
  cases.push_back({name + ": source", Assembler(start).mov(0, 7).exit().code(), row.source_after});
  cases.push_back({name + ": r0", Assembler(start).exit().code(), row.r0_after});
}

void add_calls(std::vector<ConformanceCase>& cases) {
  cases.push_back({"a function takes r1 to r5 and gives r0",
                   Assembler()
                       .mov_imm(1, 1)
                       .mov_imm(2, 2)
                       .mov_imm(3, 3)
                       .mov_imm(4, 4)
                       .mov_imm(5, 5)
                       .call("sum")
                       .exit()
                       .label("sum")
                       .mov(0, 1)
                       .alu_imm(BPF_LSH, 0, 4)
                       .alu(BPF_OR, 0, 2)
                       .alu_imm(BPF_LSH, 0, 4)
                       .alu(BPF_OR, 0, 3)
                       .alu_imm(BPF_LSH, 0, 4)
                       .alu(BPF_OR, 0, 4)
                       .alu_imm(BPF_LSH, 0, 4)
                       .alu(BPF_OR, 0, 5)
                       .exit()
                       .code(),
                   0x12345});
  cases.push_back({"a function gives r6 to r9 back",
                   Assembler()
                       .mov_imm(6, 6)
                       .mov_imm(7, 7)
                       .mov_imm(8, 8)
                       .mov_imm(9, 9)
                       .call("spoil")
                       .mov(0, 6)
                       .alu_imm(BPF_LSH, 0, 4)
                       .alu(BPF_OR, 0, 7)
                       .alu_imm(BPF_LSH, 0, 4)
                       .alu(BPF_OR, 0, 8)
                       .alu_imm(BPF_LSH, 0, 4)
                       .alu(BPF_OR, 0, 9)
                       .exit()
                       .label("spoil")
                       .mov_imm(6, 1)
                       .mov_imm(7, 1)
                       .mov_imm(8, 1)
                       .mov_imm(9, 1)
                       .mov_imm(0, 0)
                       .exit()
                       .code(),
                   0x6789});
  cases.push_back({"a function has a stack of its own",
                   Assembler()
                       .store_imm(BPF_DW, 10, -8, 7)
                       .call("own")
                       .load(BPF_DW, 0, 10, -8)
                       .exit()
                       .label("own")
                       .store_imm(BPF_DW, 10, -8, 9)
                       .mov_imm(0, 0)
                       .exit()
                       .code(),
                   7});
  cases.push_back({"a function's stack is zero again",
                   Assembler()
                       .call("leave")
                       .call("find")
                       .exit()
                       .label("leave")
                       .store_imm(BPF_DW, 10, -8, 9)
                       .mov_imm(0, 0)
                       .exit()
                       .label("find")
                       .load(BPF_DW, 0, 10, -8)
                       .exit()
                       .code(),
                   0});
  cases.push_back({"a function writes its caller's stack",
                   Assembler()
                       .store_imm(BPF_DW, 10, -8, 7)
                       .mov(1, 10)
                       .add_imm(1, -8)
                       .call("write")
                       .load(BPF_DW, 0, 10, -8)
                       .exit()
                       .label("write")
                       .store_imm(BPF_DW, 1, 0, 11)
                       .mov_imm(0, 0)
                       .exit()
                       .code(),
                   11});
  Assembler deep;
  for (int depth = 0; depth < 7; ++depth)
    deep.call("f" + std::to_string(depth)).add_imm(0, 1).exit().label("f" + std::to_string(depth));
  cases.push_back({"eight functions deep", deep.mov_imm(0, 0).exit().code(), 7});
}

}  // namespace

std::vector<ConformanceCase> conformance_cases() {
  std::vector<ConformanceCase> cases;
  add_arithmetic(cases);
  add_unary(cases);
  add_jumps(cases);
  add_memory(cases);
  for (const Atomic& row : kAtomics64) add_atomic(cases, row, BPF_DW);
  for (const Atomic& row : kAtomics32) add_atomic(cases, row, BPF_W);
  add_calls(cases);
  return cases;
}

}  // namespace trama::ebpf
