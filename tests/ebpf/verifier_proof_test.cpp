// Which accesses the verifier proves.
#include "tests/ebpf/verifier_programs.hpp"

namespace trama::ebpf {
namespace {

// The last load or store of the program.
InstructionFacts last_access(const Facts& facts, const std::vector<bpf_insn>& code) {
  for (size_t at = code.size(); at-- > 0;) {
    const int kind = code[at].code & 7;
    if (kind == BPF_LDX || kind == BPF_ST || kind == BPF_STX) return facts.instructions[at];
  }
  return {};
}

struct ProofCase {
  const char* what;
  bool proven;
  Assembler program;
};

TEST(Verifier, ProvesPacketAccesses) {
  const ProofCase cases[] = {
      {"inside", true, ended(with_bytes(14).load(BPF_H, 3, 6, 12))},
      {"one byte too far", false, ended(with_bytes(14).load(BPF_H, 3, 6, 13))},
      {"before the start", false, ended(with_bytes(14).load(BPF_B, 3, 6, -1))},
      {"not tested", false, ended(with_packet().load(BPF_B, 3, 6, 0))},
      {"the other way round", true,
       ended(with_packet().mov(2, 6).add_imm(2, 14).mov_imm(0, 0).jump(BPF_JLT, 7, 2, "out").load(BPF_H, 3, 6, 12))},
      {"strictly less, one more", true,
       ended(with_packet().mov(2, 6).add_imm(2, 14).mov_imm(0, 0).jump(BPF_JGE, 2, 7, "out").load(BPF_B, 3, 6, 14))},
      {"not strictly less, one more", false,
       ended(with_packet().mov(2, 6).add_imm(2, 14).mov_imm(0, 0).jump(BPF_JGT, 2, 7, "out").load(BPF_B, 3, 6, 14))},
      {"on the way where it failed", false,
       ended(with_packet().mov(2, 6).add_imm(2, 14).mov_imm(0, 0).jump(BPF_JLE, 2, 7, "out").load(BPF_B, 3, 6, 0))},
      {"signed comparisons prove nothing", false,
       ended(with_packet().mov(2, 6).add_imm(2, 14).mov_imm(0, 0).jump(BPF_JSGT, 2, 7, "out").load(BPF_B, 3, 6, 0))},
      {"32-bit comparisons prove nothing", false,
       ended(with_packet().mov(2, 6).add_imm(2, 14).mov_imm(0, 0).jump32(BPF_JGT, 2, 7, "out").load(BPF_B, 3, 6, 0))},
      {"behind a header of variable length", true,
       ended(with_bytes(20)
                 .load(BPF_B, 3, 6, 0)
                 .alu_imm(BPF_AND, 3, 15)
                 .alu_imm(BPF_LSH, 3, 2)
                 .alu(BPF_ADD, 6, 3)
                 .mov(2, 6)
                 .add_imm(2, 4)
                 .jump(BPF_JGT, 2, 7, "out")
                 .load(BPF_W, 3, 6, 0))},
      {"the old proof doesn't hold for the moved pointer", false,
       ended(with_bytes(20).load(BPF_B, 3, 6, 0).alu_imm(BPF_AND, 3, 15).alu(BPF_ADD, 6, 3).load(BPF_B, 3, 6, 0))},
      {"spilled and back", true,
       ended(with_bytes(14).store(BPF_DW, 10, -8, 6).load(BPF_DW, 8, 10, -8).load(BPF_B, 3, 8, 13))},
      {"spilled, half overwritten, and back", false,
       ended(with_bytes(14)
                 .store(BPF_DW, 10, -8, 6)
                 .store_imm(BPF_B, 10, -8, 0)
                 .load(BPF_DW, 8, 10, -8)
                 .load(BPF_B, 3, 8, 13))},
      {"after the packet moved", false,
       ended(with_bytes(14).mov_imm(2, 4).call(BPF_FUNC_xdp_adjust_head).load(BPF_B, 3, 6, 0))},
      {"after a function moved the packet", false,
       ended(with_bytes(14).mov_imm(2, 4).call("f").load(BPF_B, 3, 6, 0))
           .label("f")
           .call(BPF_FUNC_xdp_adjust_head)
           .exit()},
      {"after a function that doesn't", true,
       ended(with_bytes(14).mov_imm(2, 4).call("f").load(BPF_B, 3, 6, 0)).label("f").mov_imm(0, 0).exit()},
      {"after a function wrote who knows where", false,
       ended(with_bytes(14).store(BPF_DW, 10, -8, 6).mov(1, 10).call("f").load(BPF_DW, 6, 10, -8).load(BPF_B, 3, 6, 0))
           .label("f")
           .store_imm(BPF_DW, 1, -8, 0)
           .mov_imm(0, 0)
           .exit()},
      {"a pointer or null, tested", true,
       ended(with_bytes(14)
                 .load(BPF_B, 3, 6, 0)
                 .mov(8, 6)
                 .jump_imm(BPF_JEQ, 3, 1, "keep")
                 .mov_imm(8, 0)
                 .label("keep")
                 .jump_imm(BPF_JEQ, 8, 0, "out")
                 .load(BPF_B, 3, 8, 13))},
      {"a pointer or null, not tested", false,
       ended(with_bytes(14)
                 .load(BPF_B, 3, 6, 0)
                 .mov(8, 6)
                 .jump_imm(BPF_JEQ, 3, 1, "keep")
                 .mov_imm(8, 0)
                 .label("keep")
                 .load(BPF_B, 3, 8, 13))},
      {"null compared with the end proves nothing", false,
       ended(with_packet()
                 .mov(8, 6)
                 .load(BPF_W, 3, 1, 12)
                 .jump_imm(BPF_JEQ, 3, 1, "keep")
                 .mov_imm(8, 0)
                 .label("keep")
                 .mov_imm(0, 0)
                 .jump(BPF_JGT, 8, 7, "out")
                 .load(BPF_B, 3, 6, 0))},
  };
  for (const ProofCase& one : cases) {
    SCOPED_TRACE(one.what);
    // r1 is the context until a helper or a function is called, which none of these needs afterwards.
    const auto facts = analyzed(one.program);
    ASSERT_TRUE(facts) << describe(facts.error());
    const std::vector<bpf_insn> code = one.program.code();
    // A function at the end has accesses of its own: look at the main one.
    const size_t end = facts->functions[0].end;
    EXPECT_EQ(last_access(*facts, {code.begin(), code.begin() + static_cast<std::ptrdiff_t>(end)}).proven, one.proven);
  }
}

// A loop that walks headers, as over VLAN tags: proven in every round.
TEST(Verifier, ProvesALoopOverThePacket) {
  const Assembler program = ended(with_packet()
                                      .mov_imm(0, 0)
                                      .mov_imm(8, 0)
                                      .label("again")
                                      .mov(2, 6)
                                      .add_imm(2, 4)
                                      .jump(BPF_JGT, 2, 7, "out")
                                      .load(BPF_W, 3, 6, 0)
                                      .mov(6, 2)
                                      .add_imm(8, 1)
                                      .jump_imm(BPF_JLT, 8, 10, "again"));
  const auto facts = analyzed(program);
  ASSERT_TRUE(facts) << describe(facts.error());
  EXPECT_EQ(facts->unproven, 0u);
}

TEST(Verifier, ProvesValuesAndKeys) {
  const Assembler found = key_and_lookup(kArrayMap).jump_imm(BPF_JEQ, 0, 0, "out");
  const ProofCase cases[] = {
      {"a value, tested", true, ended(Assembler(found).load(BPF_DW, 3, 0, 8))},
      {"behind the value", false, ended(Assembler(found).load(BPF_DW, 3, 0, 9))},
      {"before the value", false, ended(Assembler(found).load(BPF_DW, 3, 0, -1))},
      {"not tested", false, ended(key_and_lookup(kArrayMap).load(BPF_DW, 3, 0, 0))},
      {"a copy of what was tested", true,
       ended(key_and_lookup(kArrayMap).mov(6, 0).jump_imm(BPF_JEQ, 0, 0, "out").load(BPF_DW, 3, 6, 0))},
      {"a copy of an earlier result", false,
       ended(key_and_lookup(kArrayMap)
                 .mov(6, 0)
                 .lookup(kArrayMap, -4)
                 .jump_imm(BPF_JEQ, 0, 0, "out")
                 .load(BPF_DW, 3, 6, 0))},
      {"with a bounded index", true,
       ended(Assembler(found).load(BPF_W, 3, 0, 0).alu_imm(BPF_AND, 3, 7).alu(BPF_ADD, 0, 3).load(BPF_DW, 3, 0, 0))},
      {"with an index that may be too large", false,
       ended(Assembler(found).load(BPF_W, 3, 0, 0).alu_imm(BPF_AND, 3, 15).alu(BPF_ADD, 0, 3).load(BPF_DW, 3, 0, 0))},
      {"with a compared index", true,
       ended(Assembler(found)
                 .load(BPF_W, 3, 0, 0)
                 .jump_imm(BPF_JGT, 3, 8, "out")
                 .alu(BPF_ADD, 0, 3)
                 .load(BPF_DW, 3, 0, 0))},
      {"a constant", true, ended(Assembler().map_value(1, kConstantsMap, 8).load(BPF_DW, 3, 1, 0))},
      {"a variable", true, ended(Assembler().map_value(1, kVariablesMap, 8).store_imm(BPF_DW, 1, 0, 1))},
      {"an aligned atomic", true, ended(Assembler(found).mov_imm(3, 1).atomic(BPF_DW, BPF_ADD, 0, 8, 3))},
      {"an atomic that isn't aligned", false, ended(Assembler(found).mov_imm(3, 1).atomic(BPF_DW, BPF_ADD, 0, 4, 3))},
  };
  for (const ProofCase& one : cases) {
    SCOPED_TRACE(one.what);
    const auto facts = analyzed(one.program);
    ASSERT_TRUE(facts) << describe(facts.error());
    EXPECT_EQ(last_access(*facts, one.program.code()).proven, one.proven);
  }
  const auto facts = analyzed(key_and_lookup(kHashMap).mov_imm(0, 0).exit());
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->instructions[5].key_proven);
  EXPECT_EQ(facts->instructions[5].map, kHashMap);
}

}  // namespace
}  // namespace trama::ebpf
