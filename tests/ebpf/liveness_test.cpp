// Which instructions need no machine code.
#include "ebpf/liveness.hpp"

#include "tests/ebpf/jit_programs.hpp"
#include "tests/ebpf/jit_sandbox.hpp"

namespace trama::ebpf {
namespace {

// The numbers of the instructions that are needless, and -1 where the context is read.
std::vector<int> needless(const Assembler& program) {
  const Object object = object_with_maps({program.code(), Assembler().mov_imm(0, 1).exit().code()});
  const auto facts = analyze(object, 0);
  if (!facts) {
    ADD_FAILURE() << describe(facts.error());
    return {};
  }
  const Liveness found = find_needless(object.programs[0].code, *facts);
  std::vector<int> numbers;
  if (found.context) numbers.push_back(-1);
  for (size_t at = 0; at < found.needless.size(); ++at)
    if (found.needless[at]) numbers.push_back(static_cast<int>(at));
  return numbers;
}

using Numbers = std::vector<int>;

TEST(Liveness, CopiesOfTheContextAreNotNeededForItsFields) {
  EXPECT_EQ(needless(Assembler().mov(6, 1).load(BPF_W, 0, 6, 12).load(BPF_W, 2, 6, 16).alu(BPF_ADD, 0, 2).exit()),
            Numbers({0}));
  EXPECT_EQ(needless(Assembler().mov(6, 1).mov(1, 6).call(BPF_FUNC_xdp_get_buff_len).exit()), Numbers({-1}))
      << "a helper takes it";
  EXPECT_EQ(needless(Assembler().store(BPF_DW, 10, -8, 1).mov_imm(0, 0).exit()), Numbers({-1})) << "it is stored";
}

TEST(Liveness, ChainsAndLoops) {
  EXPECT_EQ(needless(Assembler().mov_imm(2, 1).add_imm(2, 3).mov(3, 2).mov_imm(0, 0).exit()), Numbers({0, 1, 2}));
  const Assembler loop = Assembler()
                             .mov_imm(5, 0)
                             .mov_imm(0, 0)
                             .mov_imm(2, 9)
                             .mov_imm(3, 5)
                             .mov_imm(4, 5)
                             .label("again")
                             .alu(BPF_ADD, 0, 3)
                             .mov(3, 4)
                             .add_imm(5, 1)
                             .add_imm(2, -1)
                             .jump_imm(BPF_JNE, 2, 0, "again")
                             .exit();
  EXPECT_EQ(needless(loop), Numbers({0, 7})) << "nobody reads r5 but itself";
}

TEST(Liveness, WhatIsReadElsewhereIsNeeded) {
  EXPECT_EQ(needless(Assembler().mov_imm(1, 7).call("f").exit().label("f").mov(0, 1).exit()), Numbers({}))
      << "arguments";
  EXPECT_EQ(needless(Assembler()
                         .mov_imm(6, 7)
                         .mov_imm(1, 0)
                         .call("f")
                         .mov(0, 6)
                         .exit()
                         .label("f")
                         .mov_imm(6, 1)
                         .mov_imm(0, 1)
                         .exit()),
            Numbers({5}))
      << "registers that calls keep; the function's own one is forgotten";
  EXPECT_EQ(needless(Assembler()
                         .mov_imm(0, 1)
                         .mov_imm(2, 3)
                         .store_imm(BPF_DW, 10, -8, 1)
                         .atomic(BPF_DW, BPF_CMPXCHG, 10, -8, 2)
                         .mov_imm(0, 2)
                         .exit()),
            Numbers({}))
      << "a compare and exchange reads r0";
  EXPECT_EQ(needless(Assembler()
                         .mov_imm(2, 3)
                         .mov_imm(3, 4)
                         .mov_imm(0, 0)
                         .jump(BPF_JGT, 2, 3, "out")
                         .mov_imm(0, 1)
                         .label("out")
                         .exit()),
            Numbers({}));
  EXPECT_EQ(
      needless(Assembler().map(2, kPrograms).mov_imm(3, 1).mov_imm(4, 9).call(BPF_FUNC_tail_call).mov_imm(0, 1).exit()),
      Numbers({-1, 3}))
      << "a tail call takes three arguments";
}

// Loads may fault: they are never left out.
TEST(Liveness, LoadsStay) {
  EXPECT_EQ(needless(packet().load(BPF_B, 3, 6, 99).exit()), Numbers({}));
  JitSandbox sandbox(object_of({packet().load(BPF_B, 3, 6, 99).exit().code()}));
  ASSERT_TRUE(sandbox.jit);
  EXPECT_EQ(sandbox.run(), uint64_t{XDP_ABORTED});
  EXPECT_EQ(sandbox.fault(), Fault::bad_access);
}

}  // namespace
}  // namespace trama::ebpf
