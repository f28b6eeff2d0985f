// Jumps and functions.
#include <array>
#include <utility>

#include "tests/ebpf/assembler.hpp"
#include "tests/ebpf/conformance.hpp"

namespace trama::ebpf {
namespace {

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
    {"-1 and 1", kAllBits, 1, "01110010011", "01110010011"},
    {"1 and -1", 1, kAllBits, "01001111100", "01001111100"},
    {"-2 and -1", kAllBits - 1, kAllBits, "01001110011", "01001110011"},
    {"least and most", kSignBit, kSignBit - 1, "01110000011", "01001101100"},
    {"2^32 and 0", kUpperBit, 0, "01110001100", "10010100101"},
    {"low halves alike", kUpperBit + 7, 2 * kUpperBit + 7, "01001110011", "10010110101"},
    {"2^31 and 2^31-1", 0x80000000, 0x7fffffff, "01110001100", "01110000011"},
};

void add_conditions(std::vector<ConformanceCase>& cases) {
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

void add_functions(std::vector<ConformanceCase>& cases) {
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

void add_jumps_and_calls(std::vector<ConformanceCase>& cases) {
  add_conditions(cases);
  add_functions(cases);
}

}  // namespace trama::ebpf
