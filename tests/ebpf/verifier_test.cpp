// What the verifier refuses, proves, and says of a program.
#include "ebpf/verifier.hpp"

#include "tests/ebpf/sandbox.hpp"

namespace trama::ebpf {
namespace {

enum MapIndex { kArray, kPerCpu, kHash, kLpm, kPrograms, kRing, kSockets, kConstants, kVariables };

std::vector<MapSpec> all_maps() {
  std::vector<MapSpec> maps{
      map_spec("array", BPF_MAP_TYPE_ARRAY, 4, 16, 4),        map_spec("percpu", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 16, 4),
      map_spec("hash", BPF_MAP_TYPE_HASH, 4, 16, 4),          map_spec("lpm", BPF_MAP_TYPE_LPM_TRIE, 8, 8, 4),
      map_spec("programs", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4), map_spec("ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096),
      map_spec("sockets", BPF_MAP_TYPE_XSKMAP, 4, 4, 4),      map_spec(".rodata", BPF_MAP_TYPE_ARRAY, 4, 16, 1),
      map_spec(".bss", BPF_MAP_TYPE_ARRAY, 4, 16, 1)};
  maps[kConstants].section = Section::rodata;
  maps[kVariables].section = Section::bss;
  return maps;
}

Expected<Facts> analyzed(const Assembler& program) { return analyze(object_of({program.code()}, all_maps()), 0); }

// r6 = data, r7 = data_end
Assembler packet() { return Assembler().load(BPF_W, 6, 1, 0).load(BPF_W, 7, 1, 4); }
// The same, and `bytes` bytes are inside, or the program ends.
Assembler packet_of(int bytes) { return packet().mov(2, 6).add_imm(2, bytes).mov_imm(0, 0).jump(BPF_JGT, 2, 7, "out"); }
Assembler ended(Assembler program) { return program.mov_imm(0, 0).label("out").exit(); }
Assembler key_and_lookup(int map) { return Assembler().store_imm(BPF_W, 10, -4, 1).lookup(map, -4); }

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
      {"outside the map's value", 0, Assembler().map_value(1, kVariables, 16).exit()},
      {"array of one entry", 0, Assembler().map_value(1, kArray, 0).exit()},
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
      {"r1 may be read", 6, key_and_lookup(kArray).mov(0, 1).exit()},
      {"r8 may be read", 5,
       packet().mov_imm(0, 0).jump(BPF_JEQ, 6, 7, "over").mov_imm(8, 1).label("over").mov(0, 8).exit()},
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
      {"behind the end of the packet", 2, packet().load(BPF_B, 0, 7, 0).exit()},
      {"the context may be kept nowhere", 2, packet().store(BPF_DW, 6, 0, 1).exit()},
      {"read-only", 2, Assembler().map_value(1, kConstants, 0).store_imm(BPF_W, 1, 0, 1).exit()},
      {"aren't allowed", 3, packet().mov_imm(1, 1).atomic(BPF_W, BPF_ADD, 6, 0, 1).exit()},
      {"must be a map", 3,
       Assembler().mov_imm(1, 12345).mov(2, 10).add_imm(2, -4).call(BPF_FUNC_map_lookup_elem).exit()},
      {"r2 must point to memory", 3, Assembler().map(1, kArray).mov_imm(2, 64).call(BPF_FUNC_map_lookup_elem).exit()},
      {"512 bytes", 4, Assembler().lookup(kArray, 0).exit()},
      {"can't work on map programs, which is of type prog_array", 5, key_and_lookup(kPrograms).exit()},
      {"can't work on map ring, which is of type ringbuf", 5, key_and_lookup(kRing).exit()},
      {"prefixes of an LPM trie", 7,
       Assembler()
           .store_imm(BPF_DW, 10, -8, 1)
           .map(1, kLpm)
           .mov(2, 10)
           .add_imm(2, -8)
           .mov(3, 2)
           .mov_imm(4, 0)
           .call(BPF_FUNC_map_update_elem)
           .exit()},
      {"can't work on map array, which is of type array", 3,
       Assembler().map(2, kArray).mov_imm(3, 0).call(BPF_FUNC_tail_call).mov_imm(0, 0).exit()},
      {"must be the context", 1, Assembler().mov_imm(1, 0).call(BPF_FUNC_xdp_get_buff_len).exit()},
      {"has no bound", 6,
       packet().mov_imm(2, 0).mov(3, 10).load(BPF_DW, 4, 6, 0).add_imm(3, -16).call(BPF_FUNC_xdp_load_bytes).exit()},
      {"must be a constant", 4,
       Assembler()
           .load(BPF_W, 2, 1, 12)
           .map(1, kRing)
           .mov_imm(3, 0)
           .call(BPF_FUNC_ringbuf_reserve)
           .mov_imm(0, 0)
           .exit()},
      {"tested for null", 7,
       Assembler()
           .map(1, kRing)
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
        .map(2, kPrograms)
        .mov_imm(3, 0)
        .call(BPF_FUNC_tail_call)
        .mov_imm(0, 0)
        .exit();
  };
  EXPECT_TRUE(analyzed(tail_call(224)));
  EXPECT_FALSE(analyzed(tail_call(256)));
}

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
      {"inside", true, ended(packet_of(14).load(BPF_H, 3, 6, 12))},
      {"one byte too far", false, ended(packet_of(14).load(BPF_H, 3, 6, 13))},
      {"before the start", false, ended(packet_of(14).load(BPF_B, 3, 6, -1))},
      {"not tested", false, ended(packet().load(BPF_B, 3, 6, 0))},
      {"the other way round", true,
       ended(packet().mov(2, 6).add_imm(2, 14).mov_imm(0, 0).jump(BPF_JLT, 7, 2, "out").load(BPF_H, 3, 6, 12))},
      {"strictly less, one more", true,
       ended(packet().mov(2, 6).add_imm(2, 14).mov_imm(0, 0).jump(BPF_JGE, 2, 7, "out").load(BPF_B, 3, 6, 14))},
      {"not strictly less, one more", false,
       ended(packet().mov(2, 6).add_imm(2, 14).mov_imm(0, 0).jump(BPF_JGT, 2, 7, "out").load(BPF_B, 3, 6, 14))},
      {"on the way where it failed", false,
       ended(packet().mov(2, 6).add_imm(2, 14).mov_imm(0, 0).jump(BPF_JLE, 2, 7, "out").load(BPF_B, 3, 6, 0))},
      {"signed comparisons prove nothing", false,
       ended(packet().mov(2, 6).add_imm(2, 14).mov_imm(0, 0).jump(BPF_JSGT, 2, 7, "out").load(BPF_B, 3, 6, 0))},
      {"32-bit comparisons prove nothing", false,
       ended(packet().mov(2, 6).add_imm(2, 14).mov_imm(0, 0).jump32(BPF_JGT, 2, 7, "out").load(BPF_B, 3, 6, 0))},
      {"behind a header of variable length", true,
       ended(packet_of(20)
                 .load(BPF_B, 3, 6, 0)
                 .alu_imm(BPF_AND, 3, 15)
                 .alu_imm(BPF_LSH, 3, 2)
                 .alu(BPF_ADD, 6, 3)
                 .mov(2, 6)
                 .add_imm(2, 4)
                 .jump(BPF_JGT, 2, 7, "out")
                 .load(BPF_W, 3, 6, 0))},
      {"the old proof doesn't hold for the moved pointer", false,
       ended(packet_of(20).load(BPF_B, 3, 6, 0).alu_imm(BPF_AND, 3, 15).alu(BPF_ADD, 6, 3).load(BPF_B, 3, 6, 0))},
      {"spilled and back", true,
       ended(packet_of(14).store(BPF_DW, 10, -8, 6).load(BPF_DW, 8, 10, -8).load(BPF_B, 3, 8, 13))},
      {"spilled, half overwritten, and back", false,
       ended(packet_of(14)
                 .store(BPF_DW, 10, -8, 6)
                 .store_imm(BPF_B, 10, -8, 0)
                 .load(BPF_DW, 8, 10, -8)
                 .load(BPF_B, 3, 8, 13))},
      {"after the packet moved", false,
       ended(packet_of(14).mov_imm(2, 4).call(BPF_FUNC_xdp_adjust_head).load(BPF_B, 3, 6, 0))},
      {"after a function moved the packet", false,
       ended(packet_of(14).mov_imm(2, 4).call("f").load(BPF_B, 3, 6, 0))
           .label("f")
           .call(BPF_FUNC_xdp_adjust_head)
           .exit()},
      {"after a function that doesn't", true,
       ended(packet_of(14).mov_imm(2, 4).call("f").load(BPF_B, 3, 6, 0)).label("f").mov_imm(0, 0).exit()},
      {"after a function wrote who knows where", false,
       ended(packet_of(14).store(BPF_DW, 10, -8, 6).mov(1, 10).call("f").load(BPF_DW, 6, 10, -8).load(BPF_B, 3, 6, 0))
           .label("f")
           .store_imm(BPF_DW, 1, -8, 0)
           .mov_imm(0, 0)
           .exit()},
      {"a pointer or null, tested", true,
       ended(packet_of(14)
                 .load(BPF_B, 3, 6, 0)
                 .mov(8, 6)
                 .jump_imm(BPF_JEQ, 3, 1, "keep")
                 .mov_imm(8, 0)
                 .label("keep")
                 .jump_imm(BPF_JEQ, 8, 0, "out")
                 .load(BPF_B, 3, 8, 13))},
      {"a pointer or null, not tested", false,
       ended(packet_of(14)
                 .load(BPF_B, 3, 6, 0)
                 .mov(8, 6)
                 .jump_imm(BPF_JEQ, 3, 1, "keep")
                 .mov_imm(8, 0)
                 .label("keep")
                 .load(BPF_B, 3, 8, 13))},
      {"null compared with the end proves nothing", false,
       ended(packet()
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
  const Assembler program = ended(packet()
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
  const Assembler found = key_and_lookup(kArray).jump_imm(BPF_JEQ, 0, 0, "out");
  const ProofCase cases[] = {
      {"a value, tested", true, ended(Assembler(found).load(BPF_DW, 3, 0, 8))},
      {"behind the value", false, ended(Assembler(found).load(BPF_DW, 3, 0, 9))},
      {"before the value", false, ended(Assembler(found).load(BPF_DW, 3, 0, -1))},
      {"not tested", false, ended(key_and_lookup(kArray).load(BPF_DW, 3, 0, 0))},
      {"a copy of what was tested", true,
       ended(key_and_lookup(kArray).mov(6, 0).jump_imm(BPF_JEQ, 0, 0, "out").load(BPF_DW, 3, 6, 0))},
      {"a copy of an earlier result", false,
       ended(key_and_lookup(kArray).mov(6, 0).lookup(kArray, -4).jump_imm(BPF_JEQ, 0, 0, "out").load(BPF_DW, 3, 6, 0))},
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
      {"a constant", true, ended(Assembler().map_value(1, kConstants, 8).load(BPF_DW, 3, 1, 0))},
      {"a variable", true, ended(Assembler().map_value(1, kVariables, 8).store_imm(BPF_DW, 1, 0, 1))},
      {"an aligned atomic", true, ended(Assembler(found).mov_imm(3, 1).atomic(BPF_DW, BPF_ADD, 0, 8, 3))},
      {"an atomic that isn't aligned", false, ended(Assembler(found).mov_imm(3, 1).atomic(BPF_DW, BPF_ADD, 0, 4, 3))},
  };
  for (const ProofCase& one : cases) {
    SCOPED_TRACE(one.what);
    const auto facts = analyzed(one.program);
    ASSERT_TRUE(facts) << describe(facts.error());
    EXPECT_EQ(last_access(*facts, one.program.code()).proven, one.proven);
  }
  const auto facts = analyzed(key_and_lookup(kHash).mov_imm(0, 0).exit());
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->instructions[5].key_proven);
  EXPECT_EQ(facts->instructions[5].map, kHash);
}

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
       Assembler().store_imm(BPF_H, 10, -4, 1).lookup(kArray, -4).mov_imm(0, 0).exit()},
      {"a whole key", false, key_and_lookup(kArray).mov_imm(0, 0).exit()},
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
      {"nothing", "", ended(packet_of(14).load(BPF_B, 3, 6, 0))},
      {"counting per CPU", "", ended(found(kPerCpu).load(BPF_DW, 4, 0, 0).add_imm(4, 1).store(BPF_DW, 0, 0, 4))},
      {"adding to a shared value", "", ended(found(kArray).atomic(BPF_DW, BPF_ADD, 0, 0, 3))},
      {"reading a shared value", "", ended(found(kHash).load(BPF_DW, 4, 0, 0).jump_imm(BPF_JEQ, 4, 1, "out"))},
      {"storing into a shared value", "writes shared maps", ended(found(kArray).store(BPF_DW, 0, 0, 3))},
      {"adding and looking", "writes shared maps", ended(found(kArray).atomic(BPF_DW, BPF_ADD | BPF_FETCH, 0, 0, 3))},
      {"adding, and reading elsewhere", "writes shared maps",
       ended(found(kArray).atomic(BPF_DW, BPF_ADD, 0, 0, 3).load(BPF_DW, 4, 0, 8))},
      {"deciding by a counter per CPU", "decides by what it wrote to a map per CPU",
       ended(
           found(kPerCpu).load(BPF_DW, 4, 0, 0).add_imm(4, 1).store(BPF_DW, 0, 0, 4).jump_imm(BPF_JGT, 4, 100, "out"))},
      {"returning a counter per CPU", "decides by what it wrote to a map per CPU",
       found(kPerCpu).store(BPF_DW, 0, 0, 3).load(BPF_DW, 0, 0, 0).exit().label("out").exit()},
      {"deciding by a map per CPU that only control writes", "",
       ended(found(kPerCpu).load(BPF_DW, 4, 0, 0).jump_imm(BPF_JGT, 4, 100, "out"))},
      {"updating a hash map", "writes shared maps",
       ended(Assembler()
                 .store_imm(BPF_DW, 10, -8, 1)
                 .store_imm(BPF_DW, 10, -16, 1)
                 .map(1, kHash)
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
  const auto reads = analyzed(ended(packet_of(14).load(BPF_B, 3, 6, 0)));
  ASSERT_TRUE(reads);
  EXPECT_FALSE(reads->properties.writes_packet);
  const auto writes = analyzed(ended(packet_of(14).store_imm(BPF_B, 6, 0, 1)));
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
