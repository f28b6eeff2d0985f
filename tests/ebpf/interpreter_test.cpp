// Faults, limits and tail calls, as the interpreter runs them.
#include "ebpf/interpreter.hpp"

#include <random>

#include "ebpf/helpers.hpp"
#include "tests/ebpf/sandbox.hpp"

namespace trama::ebpf {
namespace {

TEST(Interpreter, ReadsTheContext) {
  const auto field = [](int offset) { return object_of({Assembler().load(BPF_W, 0, 1, offset).exit().code()}); };
  EXPECT_EQ(Sandbox(field(offsetof(xdp_md, ingress_ifindex))).run(), 3u);
  EXPECT_EQ(Sandbox(field(offsetof(xdp_md, rx_queue_index))).run(), 5u);
  Sandbox length(object_of({with_packet().mov(0, 7).alu(BPF_SUB, 0, 6).exit().code()}));
  EXPECT_EQ(length.run(TestPacket(std::vector<uint8_t>(77))), 77u);
}

TEST(Interpreter, FaultsAreNamedAndPlaced) {
  const struct {
    const char* what;
    Fault fault;
    uint32_t instruction;
    Assembler program;
  } rows[] = {
      {"an address that wraps", Fault::bad_access, 1, Assembler().mov_imm(1, -4).load(BPF_DW, 0, 1, 0).exit()},
      {"behind the packet", Fault::bad_access, 2, with_packet().load(BPF_B, 0, 7, 0).exit()},
      {"half behind the packet", Fault::bad_access, 2, with_packet().load(BPF_W, 0, 7, -2).exit()},
      {"before the packet", Fault::bad_access, 2, with_packet().load(BPF_B, 0, 6, -1).exit()},
      {"null", Fault::bad_access, 1, Assembler().mov_imm(1, 0).load(BPF_B, 0, 1, 0).exit()},
      {"above the stacks", Fault::bad_access, 1, Assembler().mov(1, 10).store_imm(BPF_DW, 1, 8 * 512, 1).exit()},
      {"below the stack", Fault::bad_access, 0, Assembler().store_imm(BPF_DW, 10, -520, 1).exit()},
      {"a write to the context", Fault::bad_access, 0, Assembler().store_imm(BPF_W, 1, 0, 1).exit()},
      {"half of the context's field", Fault::bad_access, 0, Assembler().load(BPF_H, 0, 1, 0).exit()},
      {"the inside of a map", Fault::bad_access, 2, Assembler().map(1, 0).load(BPF_DW, 0, 1, 0).exit()},
      {"a constant", Fault::bad_access, 2, Assembler().map_value(1, 1, 0).store_imm(BPF_B, 1, 0, 1).exit()},
      {"between two values", Fault::bad_access, 7,
       Assembler().store_imm(BPF_W, 10, -4, 0).lookup(0, -4).mov(1, 0).load(BPF_B, 0, 1, 12).exit()},
      {"an atomic that isn't aligned", Fault::bad_access, 1,
       Assembler().mov_imm(1, 1).atomic(BPF_W, BPF_ADD, 10, -7, 1).exit()},
      {"no map", Fault::bad_argument, 1, Assembler().mov_imm(1, 12345).call(BPF_FUNC_map_lookup_elem).exit()},
      {"a key that isn't memory", Fault::bad_access, 3,
       Assembler().map(1, 0).mov_imm(2, 64).call(BPF_FUNC_map_lookup_elem).exit()},
      {"no context", Fault::bad_argument, 1, Assembler().mov_imm(1, 0).call(BPF_FUNC_xdp_get_buff_len).exit()},
      {"an endless loop", Fault::step_limit, 0, Assembler().raw(BPF_JMP | BPF_JA, 0, 0, -1, 0)},
      {"an endless loop that is conditional", Fault::step_limit, 1,
       Assembler().mov_imm(0, 0).raw(BPF_JMP | BPF_JEQ, 0, 0, -1, 0).exit()},
      {"endless recursion", Fault::call_depth, 0,
       Assembler().raw(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, -1).exit()},
      {"no such instruction", Fault::bad_instruction, 0, Assembler().raw(0xff, 0, 0, 0, 0)},
      {"no such helper", Fault::bad_instruction, 0, Assembler().call(9999).exit()},
      {"a jump to nowhere", Fault::bad_instruction, 0, Assembler().raw(BPF_JMP | BPF_JA, 0, 0, 100, 0).exit()},
      {"a jump into a wide load", Fault::bad_instruction, 2,
       Assembler().raw(BPF_JMP | BPF_JA, 0, 0, 1, 0).wide(0, 1).exit()},
      {"the end without exit", Fault::bad_instruction, 1, Assembler().mov_imm(0, 0)},
      {"half a wide load", Fault::bad_instruction, 0, Assembler().raw(BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, 0)},
      {"nothing", Fault::bad_instruction, 0, Assembler()},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    MapSpec constants = map_spec(".rodata", BPF_MAP_TYPE_ARRAY, 4, 8, 1);
    constants.section = Section::rodata;
    Sandbox sandbox(object_of({row.program.code()}, {map_spec("array", BPF_MAP_TYPE_ARRAY, 4, 12, 4), constants}));
    EXPECT_EQ(sandbox.run(), uint64_t{XDP_ABORTED});
    EXPECT_EQ(sandbox.fault(), row.fault) << name_of(sandbox.fault());
    EXPECT_EQ(sandbox.execution->fault_instruction, row.instruction);
  }
}

TEST(Interpreter, StepsBoundTheInstructionsExecuted) {
  // A loop of 4 instructions, 100 rounds: the jump back costs 4 in each.
  const auto loop = Assembler()
                        .mov_imm(0, 0)
                        .mov_imm(1, 100)
                        .label("again")
                        .add_imm(0, 1)
                        .mov(2, 0)
                        .add_imm(1, -1)
                        .jump_imm(BPF_JNE, 1, 0, "again")
                        .exit()
                        .code();
  Sandbox sandbox(object_of({loop}));
  sandbox.execution->step_limit = 400;
  EXPECT_EQ(sandbox.run(), 100u);
  EXPECT_EQ(sandbox.execution->steps_left, 0);
  sandbox.execution->step_limit = 399;
  EXPECT_EQ(sandbox.run(), uint64_t{XDP_ABORTED});
  EXPECT_EQ(sandbox.fault(), Fault::step_limit);
}

TEST(Interpreter, CallsCostTheLengthOfTheFunction) {
  const auto code = Assembler().call("f").exit().label("f").mov_imm(0, 1).mov_imm(1, 1).exit().code();
  EXPECT_EQ(step_costs(code), (std::vector<uint32_t>{3, 0, 0, 0, 0}));
}

TEST(Interpreter, TailCallsReplaceTheProgram) {
  const Assembler call_slot =
      Assembler().mov(6, 1).map(2, 0).mov_imm(3, 1).call(BPF_FUNC_tail_call).mov_imm(0, 77).exit();
  MapSpec programs = map_spec("programs", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 2);
  Sandbox sandbox(object_of({call_slot.code(), Assembler().mov_imm(0, 42).exit().code()}, {programs}));
  EXPECT_EQ(sandbox.run(), 77u) << "an empty slot: falls through";
  ASSERT_TRUE(set_program((*sandbox.maps)[0], 1, 1));
  EXPECT_EQ(sandbox.run(), 42u);
  ASSERT_TRUE(set_program((*sandbox.maps)[0], 1, 0));
  EXPECT_EQ(sandbox.run(), 77u) << "itself again and again, and then it falls through";
  EXPECT_EQ(sandbox.execution->tail_calls, kMaxTailCalls);
  ASSERT_TRUE(set_program((*sandbox.maps)[0], 1, 5));
  EXPECT_EQ(sandbox.run(), uint64_t{XDP_ABORTED});
  EXPECT_EQ(sandbox.fault(), Fault::bad_argument);
}

TEST(Interpreter, ATailCallOfAFunctionReturnsToItsCaller) {
  const Assembler outer = Assembler()
                              .call("f")
                              .add_imm(0, 1)
                              .exit()
                              .label("f")
                              .map(2, 0)
                              .mov_imm(3, 1)
                              .call(BPF_FUNC_tail_call)
                              .mov_imm(0, 77)
                              .exit();
  MapSpec programs = map_spec("programs", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 2);
  programs.program_slots = {-1, 1};
  Sandbox sandbox(object_of({outer.code(), Assembler().mov_imm(0, 42).exit().code()}, {programs}));
  EXPECT_EQ(sandbox.run(), 43u);
}

// Random programs: what the verifier calls proven is never what the interpreter, which checks everything, faults at.
TEST(VerifierAndInterpreter, NoProvenAccessFaults) {
  constexpr uint64_t kPrograms = 3000;
  uint64_t accepted = 0, faulted = 0, proven = 0;
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&random](uint64_t bound) { return static_cast<int>(random() % bound); };
    const int sizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW};
    Assembler program = with_packet()
                            .mov(8, 6)
                            .mov_imm(9, below(40))
                            .mov_imm(0, 0)
                            .store(BPF_DW, 10, -8, 6)
                            .store_imm(BPF_W, 10, -20, below(5));
    const int pointers[] = {6, 8, 3, 4};
    program.mov(3, 6).mov(4, 6).mov_imm(5, below(64));
    for (int step = 0, steps = 10 + below(40); step < steps; ++step) {
      const std::string over = "over" + std::to_string(step);
      const int p = pointers[below(4)], q = pointers[below(4)], size = sizes[below(4)];
      switch (below(11)) {
        case 0:
        case 1:
        case 2: {
          const int room = 1 + below(24);
          program.mov(2, p).add_imm(2, room).jump(below(2) ? BPF_JGT : BPF_JGE, 2, 7, over);
          const int offset = below(static_cast<uint64_t>(room)) - (below(40) == 0);
          if (below(3))
            program.load(size, below(2) ? 9 : 5, p,
                         std::max(0, offset - (1 << (size == BPF_DW  ? 3
                                                     : size == BPF_W ? 2
                                                                     : size == BPF_H))));
          else
            program.store(BPF_B, p, offset, 9);
          program.label(over);
          break;
        }
        case 3: program.mov(p, q); break;
        case 4: program.add_imm(p, below(30) ? below(12) : -below(20)); break;
        case 5: program.alu_imm(BPF_AND, 9, below(2) ? 31 : 255).alu(BPF_ADD, p, 9); break;
        case 6: program.jump(below(2) ? BPF_JLT : BPF_JGT, p, 7, over).mov_imm(9, below(9)).label(over); break;
        case 7: program.store(BPF_DW, 10, -8, p).load(BPF_DW, q, 10, -8); break;
        case 8:
          program.lookup(0, -20)
              .jump_imm(BPF_JEQ, 0, 0, over)
              .load(BPF_DW, 9, 0, below(below(20) ? 9 : 14))
              .store(BPF_DW, 0, below(9), 9)
              .label(over)
              .mov_imm(0, 0)
              .mov(3, 6)
              .mov(4, 8)
              .mov_imm(5, 1);
          break;
        case 9:
          program.alu_imm(below(2) ? BPF_RSH : BPF_LSH, 9, below(5))
              .jump_imm(BPF_JGT, 9, below(60), over)
              .mov_imm(5, 3)
              .label(over);
          break;
        default:
          // A loop that walks on.
          program.mov_imm(5, 3)
              .label("again" + over)
              .mov(2, p)
              .add_imm(2, 4)
              .jump(BPF_JGT, 2, 7, over)
              .load(BPF_W, 9, p, 0)
              .mov(p, 2)
              .add_imm(5, -1)
              .jump_imm(BPF_JNE, 5, 0, "again" + over)
              .label(over);
      }
    }
    Object object = object_of({program.mov_imm(0, 1).exit().code()}, {map_spec("array", BPF_MAP_TYPE_ARRAY, 4, 16, 4)});
    const auto facts = analyze(object, 0);
    if (!facts) continue;
    ++accepted;
    proven += facts->accesses - facts->unproven;
    Sandbox sandbox(std::move(object));
    for (int round = 0; round < 8; ++round) {
      std::vector<uint8_t> bytes(static_cast<size_t>(below(70)));
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      sandbox.run(TestPacket(bytes));
      if (sandbox.fault() == Fault::none) continue;
      ++faulted;
      ASSERT_EQ(sandbox.fault(), Fault::bad_access);
      ASSERT_FALSE(facts->instructions[sandbox.execution->fault_instruction].proven)
          << "at " << sandbox.execution->fault_instruction;
    }
  }
  EXPECT_GT(accepted, kPrograms / 2);
  EXPECT_GT(faulted, 100u);
  EXPECT_GT(proven, 10'000u);
}

}  // namespace
}  // namespace trama::ebpf
