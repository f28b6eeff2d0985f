// What the verifier refuses, and how it says so.
#include "tests/ebpf/verifier_programs.hpp"

namespace trama::ebpf {
namespace {

struct RefusalCase {
  const char* reason;  // part of the text
  int instruction;     // -1: doesn't matter
  Assembler program;
};

std::vector<RefusalCase> shape_refusals() {
  constexpr int kMov = BPF_ALU64 | BPF_MOV;
  return {
      {"empty", -1, Assembler()},
      {"runs off its end", 0, Assembler().mov_imm(0, 0)},
      {"runs off its end", 1, Assembler().wide(0, 1)},
      {"ends inside a wide load", 0, Assembler().raw(BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, 0)},
      {"outside the program", 1, Assembler().mov_imm(0, 0).raw(BPF_JMP | BPF_JA, 0, 0, 100, 0).exit()},
      {"outside the program", 1, Assembler().mov_imm(0, 0).raw(BPF_JMP | BPF_JA, 0, 0, -3, 0).exit()},
      {"middle of a wide load", 0, Assembler().raw(BPF_JMP | BPF_JA, 0, 0, 1, 0).wide(0, 1).exit()},
      {"outside the program", 0, Assembler().raw(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 100).exit()},
      {"into another function", 2,
       Assembler().mov_imm(0, 0).call("f").jump("inside").exit().label("f").mov_imm(0, 1).label("inside").exit()},
      {"unknown instruction", 0, Assembler().raw(0xff, 0, 0, 0, 0).exit()},
      {"unknown instruction", 0, Assembler().raw(BPF_ALU64 | 0xe0, 0, 0, 0, 0).exit()},
      {"no such register", 0, Assembler().raw(kMov, 11, 0, 0, 0).exit()},
      {"no such register", 0, Assembler().raw(kMov | BPF_X, 0, 15, 0, 0).exit()},
      {"r10 is read-only", 0, Assembler().mov_imm(10, 0).exit()},
      {"r10 is read-only", 0, Assembler().load(BPF_DW, 10, 10, -8).exit()},
      {"isn't 0", 0, Assembler().raw(BPF_ALU64 | BPF_ADD, 0, 0, 1, 0).exit()},
      {"set v4", 0, Assembler().raw(kMov | BPF_X, 0, 1, 8, 0).exit()},
      {"set v4", 0, Assembler().raw(BPF_ALU64 | BPF_END, 0, 0, 0, 16).exit()},
      {"set v4", 0, Assembler().raw(BPF_LDX | 0x80 | BPF_W, 0, 10, -4, 0).exit()},
      {"set v4", 0, Assembler().raw(BPF_JMP32 | BPF_JA, 0, 0, 0, 0).exit()},
      {"not for XDP", 0, Assembler().raw(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0).exit()},
      {"bpf_skb_store_bytes", 0, Assembler().call(BPF_FUNC_skb_store_bytes).exit()},
      {"number (9999)", 0, Assembler().call(9999).exit()},
      {"kfuncs", 0, Assembler().raw(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, 1).exit()},
      {"callbacks", 0, Assembler().raw(BPF_LD | BPF_IMM | BPF_DW, 0, BPF_PSEUDO_FUNC, 0, 0).raw(0, 0, 0, 0, 0).exit()},
      {"a map that isn't there", 0, Assembler().map(1, 99).exit()},
      {"outside the map's value", 0, Assembler().map_value(1, kVariablesMap, 16).exit()},
      {"array of one entry", 0, Assembler().map_value(1, kArrayMap, 0).exit()},
      {"atomic", 0, Assembler().raw(BPF_STX | BPF_ATOMIC | BPF_B, 10, 0, -8, BPF_ADD).exit()},
      {"atomic", 0, Assembler().raw(BPF_STX | BPF_ATOMIC | BPF_W, 10, 0, -8, 0x70).exit()},
      {"may not call themselves", 0, Assembler().label("f").call("f").exit()},
      {"may not call themselves", 5,
       Assembler().call("a").exit().label("a").mov_imm(0, 0).call("b").exit().label("b").call("a").exit()},
  };
}

std::vector<RefusalCase> data_refusals() {
  return {
      {"r0 may be read", 0, Assembler().exit()},
      {"r3 may be read", 0, Assembler().mov(0, 3).exit()},
      {"r5 may be read", 1, Assembler().mov_imm(0, 0).alu(BPF_ADD, 0, 5).exit()},
      {"r1 may be read", 6, key_and_lookup(kArrayMap).mov(0, 1).exit()},
      {"r8 may be read", 5,
       with_packet().mov_imm(0, 0).jump(BPF_JEQ, 6, 7, "over").mov_imm(8, 1).label("over").mov(0, 8).exit()},
      {"r6 may be read", 3, Assembler().mov_imm(6, 1).call("f").exit().label("f").mov(0, 6).exit()},
      {"r0 may be read", 1, Assembler().call("f").exit().label("f").exit()},
      {"through a number", 1, Assembler().mov_imm(1, -4).load(BPF_DW, 0, 1, 0).exit()},
      {"through a number", 2, Assembler().mov(2, 10).alu_imm(BPF_MUL, 2, 1).load(BPF_DW, 0, 2, -8).exit()},
      {"512 bytes", 0, Assembler().store_imm(BPF_DW, 10, 0, 1).exit()},
      {"512 bytes", 0, Assembler().store_imm(BPF_DW, 10, -516, 1).exit()},
      {"512 bytes", 0, Assembler().load(BPF_W, 0, 10, -2).exit()},
      {"context (struct xdp_md) may not be written", 0, Assembler().store_imm(BPF_W, 1, 0, 1).exit()},
      {"read whole", 0, Assembler().load(BPF_DW, 0, 1, 0).exit()},
      {"read whole", 0, Assembler().load(BPF_W, 0, 1, 2).exit()},
      {"read whole", 0, Assembler().load(BPF_W, 0, 1, 24).exit()},
      {"egress_ifindex", 0, Assembler().load(BPF_W, 0, 1, 20).exit()},
      {"arithmetic on the context", 0, Assembler().add_imm(1, 4).load(BPF_W, 0, 1, 0).exit()},
      {"arithmetic on a map", 2, Assembler().map(1, 0).add_imm(1, 1).exit()},
      {"the inside of a map", 2, Assembler().map(1, 0).load(BPF_W, 0, 1, 0).exit()},
      {"behind the end of the packet", 2, with_packet().load(BPF_B, 0, 7, 0).exit()},
      {"the context may be kept nowhere", 2, with_packet().store(BPF_DW, 6, 0, 1).exit()},
      {"read-only", 2, Assembler().map_value(1, kConstantsMap, 0).store_imm(BPF_W, 1, 0, 1).exit()},
      {"aren't allowed", 3, with_packet().mov_imm(1, 1).atomic(BPF_W, BPF_ADD, 6, 0, 1).exit()},
      {"must be a map", 3,
       Assembler().mov_imm(1, 12345).mov(2, 10).add_imm(2, -4).call(BPF_FUNC_map_lookup_elem).exit()},
      {"r2 must point to memory", 3,
       Assembler().map(1, kArrayMap).mov_imm(2, 64).call(BPF_FUNC_map_lookup_elem).exit()},
      {"512 bytes", 4, Assembler().lookup(kArrayMap, 0).exit()},
      {"can't work on map programs, which is of type prog_array", 5, key_and_lookup(kProgramsMap).exit()},
      {"can't work on map ring, which is of type ringbuf", 5, key_and_lookup(kRingMap).exit()},
      {"prefixes of an LPM trie", 7,
       Assembler()
           .store_imm(BPF_DW, 10, -8, 1)
           .map(1, kLpmMap)
           .mov(2, 10)
           .add_imm(2, -8)
           .mov(3, 2)
           .mov_imm(4, 0)
           .call(BPF_FUNC_map_update_elem)
           .exit()},
      {"can't work on map array, which is of type array", 3,
       Assembler().map(2, kArrayMap).mov_imm(3, 0).call(BPF_FUNC_tail_call).mov_imm(0, 0).exit()},
      {"must be the context", 1, Assembler().mov_imm(1, 0).call(BPF_FUNC_xdp_get_buff_len).exit()},
      {"has no bound", 6,
       with_packet()
           .mov_imm(2, 0)
           .mov(3, 10)
           .load(BPF_DW, 4, 6, 0)
           .add_imm(3, -16)
           .call(BPF_FUNC_xdp_load_bytes)
           .exit()},
      {"must be a constant", 4,
       Assembler()
           .load(BPF_W, 2, 1, 12)
           .map(1, kRingMap)
           .mov_imm(3, 0)
           .call(BPF_FUNC_ringbuf_reserve)
           .mov_imm(0, 0)
           .exit()},
      {"tested for null", 7,
       Assembler()
           .map(1, kRingMap)
           .mov_imm(2, 8)
           .mov_imm(3, 0)
           .call(BPF_FUNC_ringbuf_reserve)
           .mov(1, 0)
           .mov_imm(2, 0)
           .call(BPF_FUNC_ringbuf_submit)
           .mov_imm(0, 0)
           .exit()},
  };
}

void expect_refused(const std::vector<RefusalCase>& cases) {
  for (size_t index = 0; index < cases.size(); ++index) {
    const RefusalCase& one = cases[index];
    SCOPED_TRACE(std::to_string(index) + ": " + one.reason);
    const auto facts = analyzed(one.program);
    ASSERT_FALSE(facts);
    EXPECT_NE(facts.error().text.find(one.reason), std::string::npos) << facts.error().text;
    EXPECT_EQ(facts.error().program, "p0");
    if (one.instruction >= 0) {
      EXPECT_EQ(facts.error().instruction, one.instruction) << facts.error().text;
    }
  }
}

TEST(Verifier, RefusesWhatHasNoShape) { expect_refused(shape_refusals()); }
TEST(Verifier, RefusesWhatItsDataForbid) { expect_refused(data_refusals()); }

TEST(Verifier, NamesTheSourceLine) {
  Object object = object_of({Assembler().mov_imm(0, 0).load(BPF_DW, 0, 1, 0).exit().code()});
  object.programs[0].lines = {{0, 10, "filter.bpf.c", "int verdict = 0;"}, {1, 12, "filter.bpf.c", "x = *ctx;"}};
  const auto facts = analyze(object, 0);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().source_line, 12u);
  EXPECT_NE(describe(facts.error()).find("program p0, instruction 1, filter.bpf.c:12 `x = *ctx;`: "), std::string::npos)
      << describe(facts.error());
}

TEST(Verifier, RefusesFramesBeyondTheKernels) {
  Assembler deep;
  for (int depth = 0; depth < 8; ++depth)
    deep.call("f" + std::to_string(depth)).exit().label("f" + std::to_string(depth));
  EXPECT_FALSE(analyzed(deep.mov_imm(0, 0).exit()));

  const auto chain = [](int bytes) {
    return Assembler()
        .store_imm(BPF_DW, 10, -256, 1)
        .call("f")
        .exit()
        .label("f")
        .store_imm(BPF_DW, 10, -bytes, 1)
        .mov_imm(0, 0)
        .exit();
  };
  EXPECT_TRUE(analyzed(chain(256)));
  EXPECT_FALSE(analyzed(chain(264)));

  const auto tail_call = [](int bytes) {
    return Assembler()
        .store_imm(BPF_DW, 10, -bytes, 1)
        .call("f")
        .exit()
        .label("f")
        .map(2, kProgramsMap)
        .mov_imm(3, 0)
        .call(BPF_FUNC_tail_call)
        .mov_imm(0, 0)
        .exit();
  };
  EXPECT_TRUE(analyzed(tail_call(224)));
  EXPECT_FALSE(analyzed(tail_call(256)));
}

}  // namespace
}  // namespace trama::ebpf
