// What the verifier says of a program that it takes.
#include "tests/ebpf/verifier_programs.hpp"

namespace trama::ebpf {
namespace {

TEST(Verifier, SaysWhatNeedsAZeroedStack) {
  const struct {
    const char* what;
    bool zero;
    Assembler program;
  } rows[] = {
      {"written before", false, Assembler().store_imm(BPF_DW, 10, -8, 1).load(BPF_DW, 0, 10, -8).exit()},
      {"never written", true, Assembler().load(BPF_DW, 0, 10, -8).exit()},
      {"half written", true, Assembler().store_imm(BPF_W, 10, -8, 1).load(BPF_DW, 0, 10, -8).exit()},
      {"written in halves", false,
       Assembler().store_imm(BPF_W, 10, -8, 1).store_imm(BPF_W, 10, -4, 1).load(BPF_DW, 0, 10, -8).exit()},
      {"a key of which half was written", true,
       Assembler().store_imm(BPF_H, 10, -4, 1).lookup(kArrayMap, -4).mov_imm(0, 0).exit()},
      {"a whole key", false, key_and_lookup(kArrayMap).mov_imm(0, 0).exit()},
      {"given to a function", true, Assembler().mov(1, 10).call("f").exit().label("f").mov_imm(0, 0).exit()},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    const auto facts = analyzed(row.program);
    ASSERT_TRUE(facts) << describe(facts.error());
    EXPECT_EQ(facts->functions[0].zero_stack, row.zero);
  }
}

TEST(Verifier, SaysWhatMakesAProgramSerial) {
  const auto found = [](int map) { return key_and_lookup(map).jump_imm(BPF_JEQ, 0, 0, "out").mov_imm(3, 1); };
  const struct {
    const char* what;
    const char* why;
    Assembler program;
  } rows[] = {
      {"nothing", "", ended(with_bytes(14).load(BPF_B, 3, 6, 0))},
      {"counting per CPU", "", ended(found(kPerCpuMap).load(BPF_DW, 4, 0, 0).add_imm(4, 1).store(BPF_DW, 0, 0, 4))},
      {"adding to a shared value", "", ended(found(kArrayMap).atomic(BPF_DW, BPF_ADD, 0, 0, 3))},
      {"reading a shared value", "", ended(found(kHashMap).load(BPF_DW, 4, 0, 0).jump_imm(BPF_JEQ, 4, 1, "out"))},
      {"storing into a shared value", "writes shared maps", ended(found(kArrayMap).store(BPF_DW, 0, 0, 3))},
      {"adding and looking", "writes shared maps",
       ended(found(kArrayMap).atomic(BPF_DW, BPF_ADD | BPF_FETCH, 0, 0, 3))},
      {"adding, and reading elsewhere", "writes shared maps",
       ended(found(kArrayMap).atomic(BPF_DW, BPF_ADD, 0, 0, 3).load(BPF_DW, 4, 0, 8))},
      {"deciding by a counter per CPU", "decides by what it wrote to a map per CPU",
       ended(found(kPerCpuMap)
                 .load(BPF_DW, 4, 0, 0)
                 .add_imm(4, 1)
                 .store(BPF_DW, 0, 0, 4)
                 .jump_imm(BPF_JGT, 4, 100, "out"))},
      {"returning a counter per CPU", "decides by what it wrote to a map per CPU",
       found(kPerCpuMap).store(BPF_DW, 0, 0, 3).load(BPF_DW, 0, 0, 0).exit().label("out").exit()},
      {"deciding by a map per CPU that only control writes", "",
       ended(found(kPerCpuMap).load(BPF_DW, 4, 0, 0).jump_imm(BPF_JGT, 4, 100, "out"))},
      {"updating a hash map", "writes shared maps",
       ended(Assembler()
                 .store_imm(BPF_DW, 10, -8, 1)
                 .store_imm(BPF_DW, 10, -16, 1)
                 .map(1, kHashMap)
                 .mov(2, 10)
                 .add_imm(2, -8)
                 .mov(3, 10)
                 .add_imm(3, -16)
                 .mov_imm(4, 0)
                 .call(BPF_FUNC_map_update_elem))},
      {"the clock", "uses the clock", Assembler().call(BPF_FUNC_ktime_get_ns).exit()},
      {"random numbers", "uses random numbers", Assembler().call(BPF_FUNC_get_prandom_u32).exit()},
      {"the processor", "asks for the number of its processor", Assembler().call(BPF_FUNC_get_smp_processor_id).exit()},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    const auto facts = analyzed(row.program);
    ASSERT_TRUE(facts) << describe(facts.error());
    EXPECT_EQ(facts->properties.why_serial(), row.why);
    EXPECT_EQ(facts->properties.serial(), *row.why != 0);
  }
}

TEST(Verifier, SaysWhatHappensToThePacket) {
  const auto reads = analyzed(ended(with_bytes(14).load(BPF_B, 3, 6, 0)));
  ASSERT_TRUE(reads);
  EXPECT_FALSE(reads->properties.writes_packet);
  const auto writes = analyzed(ended(with_bytes(14).store_imm(BPF_B, 6, 0, 1)));
  ASSERT_TRUE(writes);
  EXPECT_TRUE(writes->properties.writes_packet);
  EXPECT_FALSE(writes->properties.moves_packet);
  const auto moves = analyzed(Assembler().mov_imm(2, 4).call(BPF_FUNC_xdp_adjust_head).exit());
  ASSERT_TRUE(moves);
  EXPECT_TRUE(moves->properties.moves_packet);
  EXPECT_EQ(moves->properties.helpers, std::vector<int32_t>{BPF_FUNC_xdp_adjust_head});
}

TEST(Verifier, UnreachableCodeIsNotAnalyzed) {
  const auto facts = analyzed(Assembler().mov_imm(0, 0).exit().mov(0, 9).exit());
  ASSERT_TRUE(facts) << describe(facts.error());
  EXPECT_TRUE(facts->instructions[1].reached);
  EXPECT_FALSE(facts->instructions[2].reached);
}

}  // namespace
}  // namespace trama::ebpf
