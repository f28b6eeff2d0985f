// Machine code: every instruction, limits, calls, and what it must leave alone.
#include "ebpf/jit.hpp"

#include "tests/ebpf/conformance.hpp"
#include "tests/ebpf/jit_programs.hpp"
#include "tests/ebpf/jit_sandbox.hpp"

namespace trama::ebpf {
namespace {

TEST(Jit, ComputesWhatTheConformanceTableSays) {
  for (const ConformanceCase& one : conformance_cases()) {
    SCOPED_TRACE(one.name);
    JitSandbox sandbox(object_of({one.code}));
    ASSERT_TRUE(sandbox.jit);
    EXPECT_EQ(sandbox.run(), one.expected);
    EXPECT_EQ(sandbox.fault(), Fault::none);
  }
}

TEST(Jit, StepsBoundTheInstructionsExecuted) {
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
  JitSandbox sandbox(object_of({loop}));
  ASSERT_TRUE(sandbox.jit);
  sandbox.execution->step_limit = 400;
  EXPECT_EQ(sandbox.run(), 100u);
  EXPECT_EQ(sandbox.execution->steps_left, 0);
  sandbox.execution->step_limit = 399;
  EXPECT_EQ(sandbox.run(), uint64_t{XDP_ABORTED});
  EXPECT_EQ(sandbox.fault(), Fault::step_limit);
}

TEST(Jit, TailCallsReplaceTheProgram) {
  const Assembler call_slot =
      Assembler().mov(6, 1).map(2, kPrograms).mov_imm(3, 1).call(BPF_FUNC_tail_call).mov_imm(0, 77).exit();
  JitSandbox sandbox(object_with_maps({call_slot.code(), Assembler().mov_imm(0, 42).exit().code()}));
  ASSERT_TRUE(sandbox.jit);
  EXPECT_EQ(sandbox.run(), 42u);
  ASSERT_TRUE(set_program((*sandbox.maps)[kPrograms], 1, -1));
  EXPECT_EQ(sandbox.run(), 77u) << "an empty slot: falls through";
  ASSERT_TRUE(set_program((*sandbox.maps)[kPrograms], 1, 0));
  EXPECT_EQ(sandbox.run(), 77u) << "itself again and again, and then it falls through";
  EXPECT_EQ(sandbox.execution->tail_calls, kMaxTailCalls);
}

TEST(Jit, ATailCallOfAFunctionReturnsToItsCaller) {
  const Assembler outer = Assembler()
                              .mov_imm(6, 1)
                              .call("f")
                              .alu(BPF_ADD, 0, 6)
                              .exit()
                              .label("f")
                              .mov_imm(6, 100)
                              .map(2, kPrograms)
                              .mov_imm(3, 1)
                              .call(BPF_FUNC_tail_call)
                              .mov_imm(0, 77)
                              .exit();
  JitSandbox sandbox(object_with_maps({outer.code(), Assembler().mov_imm(6, 5).mov_imm(0, 42).exit().code()}));
  ASSERT_TRUE(sandbox.jit);
  EXPECT_EQ(sandbox.run(), 43u);
}

// Each program calls a function, which calls the program again: no function is deep, all together are.
TEST(Jit, FunctionsAndTailCallsTogetherHaveALimit) {
  const Assembler program = Assembler()
                                .call("f")
                                .add_imm(0, 1)
                                .exit()
                                .label("f")
                                .map(2, kPrograms)
                                .mov_imm(3, 0)
                                .call(BPF_FUNC_tail_call)
                                .mov_imm(0, 0)
                                .exit();
  const Object object = object_with_maps({program.code()});
  JitSandbox jit(object);
  Sandbox interpreter(object);
  ASSERT_TRUE(jit.jit);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(jit.run(), interpreter.run());
    EXPECT_EQ(jit.fault(), Fault::call_depth);
    EXPECT_EQ(jit.fault(), interpreter.fault());
    EXPECT_EQ(jit.execution->fault_instruction, interpreter.execution->fault_instruction);
    EXPECT_EQ(jit.execution->steps_left, interpreter.execution->steps_left);
  }
}

// A check that calls C code must leave every register as it was.
TEST(Jit, ChecksKeepRegisters) {
  Assembler code = packet();
  code.mov(8, 7).alu(BPF_SUB, 8, 6).store_imm(BPF_DW, 10, -8, 5);
  for (int number = 0; number <= 5; ++number)
    code.wide(number, 0x1111111111111111u * static_cast<uint64_t>(number + 1));
  code.mov(9, 10).jump_imm(BPF_JEQ, 8, 60, "hidden").mov(9, 6).label("hidden");
  code.load(BPF_DW, 7, 9, -8).store(BPF_DW, 9, -8, 3);
  for (int number = 1; number <= 5; ++number) code.alu_imm(BPF_MUL, 0, 31).alu(BPF_ADD, 0, number);
  code.alu(BPF_ADD, 0, 7).load(BPF_DW, 7, 10, -8).alu_imm(BPF_MUL, 0, 31).alu(BPF_ADD, 0, 7).exit();
  const Object object = object_of({code.code()});
  JitSandbox jit(object);
  Sandbox interpreter(object);
  ASSERT_TRUE(jit.jit);
  EXPECT_GT(jit.analysis.programs[0].unproven, 0u);
  EXPECT_EQ(jit.run(), interpreter.run());
  EXPECT_EQ(jit.fault(), Fault::none);
}

// Frames are cleared when a function begins, also where only others could see what was left there.
TEST(Jit, FramesOfFunctionsThatEndedAreAsTheInterpreterLeavesThem) {
  constexpr int kPacketBytes = 60;  // the distance into the next frame, as the program computes it
  const auto code = packet()
                        .mov(8, 7)
                        .alu(BPF_SUB, 8, 6)
                        .call("leaves")
                        .call("does_nothing")
                        .alu_imm(BPF_AND, 8, 511)
                        .mov(1, 10)
                        .alu(BPF_ADD, 1, 8)
                        .load(BPF_DW, 0, 1, kFrameBytes - 8 - kPacketBytes)
                        .exit()
                        .label("leaves")
                        .store_imm(BPF_DW, 10, -8, 9)
                        .mov_imm(0, 0)
                        .exit()
                        .label("does_nothing")
                        .mov_imm(0, 0)
                        .exit()
                        .code();
  JitSandbox sandbox(object_of({code}));
  ASSERT_TRUE(sandbox.jit);
  EXPECT_EQ(sandbox.run(), 0u);
  EXPECT_EQ(sandbox.fault(), Fault::none);
}

// What the verifier knows of the stack would be wrong if a pointer to something else could be moved there. The
// interpreter, which relies on nothing, lets it be.
TEST(Jit, AccessesStayInsideWhatTheyPointInto) {
  const auto code = packet()
                        .mov(1, 10)
                        .mov(2, 6)
                        .call("load")
                        .exit()
                        .label("load")
                        .mov(3, 2)
                        .alu(BPF_SUB, 3, 1)
                        .alu(BPF_ADD, 1, 3)
                        .load(BPF_B, 0, 1, 0)
                        .exit()
                        .code();
  const Object object = object_of({code});
  JitSandbox jit(object);
  Sandbox interpreter(object);
  ASSERT_TRUE(jit.jit);
  EXPECT_EQ(interpreter.run(TestPacket(std::vector<uint8_t>(60, 7))), 7u);
  jit.run(TestPacket(std::vector<uint8_t>(60, 7)));
  EXPECT_EQ(jit.fault(), Fault::bad_access);
}

TEST(Jit, EachReplicaHasItsOwnCopies) {
  const auto code = Assembler()
                        .store_imm(BPF_W, 10, -4, 2)
                        .lookup(0, -4)
                        .jump_imm(BPF_JEQ, 0, 0, "out")
                        .load(BPF_DW, 1, 0, 0)
                        .add_imm(1, 1)
                        .store(BPF_DW, 0, 0, 1)
                        .mov(0, 1)
                        .label("out")
                        .exit()
                        .code();
  JitSandbox sandbox(object_of({code}, {map_spec("own", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 3)}), 3);
  ASSERT_TRUE(sandbox.jit);
  for (uint32_t replica = 0; replica < 3; ++replica) {
    sandbox.maps->attach(*sandbox.execution, replica);
    for (uint64_t packets = 1; packets <= replica + 1; ++packets) EXPECT_EQ(sandbox.run(), packets);
  }
  std::vector<uint64_t> copies(3);
  std::memcpy(copies.data(), (*sandbox.maps)[0].read(bytes_of(uint32_t{2}))->data(), sizeof(uint64_t) * copies.size());
  EXPECT_EQ(copies, (std::vector<uint64_t>{1, 2, 3}));
}

// As long as a program may be, with jumps over all of it. (On arm64 those may be too far; then it must be said.)
TEST(Jit, LongProgramsAreCompiledOrRefused) {
  Assembler code = packet();
  code.jump_imm(BPF_JEQ, 0, 1, "middle");
  for (int at = 0; at < 15'000; ++at) code.add_imm(0, 1).alu32_imm(BPF_XOR, 0, at);
  code.label("middle").jump_imm(BPF_JEQ, 0, 1, "out").load(BPF_B, 2, 6, 59);
  for (int at = 0; at < 12'000; ++at) code.add_imm(0, 1).load(BPF_B, 2, 6, 59);
  const Object object = object_of({code.label("out").exit().code()});
  Sandbox interpreter(object);
  const auto analysis = analyze(object);
  ASSERT_TRUE(analysis) << describe(analysis.error());
  const auto jit = Jit::compile(object, *analysis, *interpreter.maps);
  if (!jit) {
    EXPECT_NE(describe(jit.error()).find("can't be compiled"), std::string::npos);
    return;
  }
  JitSandbox sandbox(object);
  EXPECT_EQ(sandbox.run(), interpreter.run());
  EXPECT_EQ(sandbox.run(TestPacket(std::vector<uint8_t>(59))), interpreter.run(TestPacket(std::vector<uint8_t>(59))));
  EXPECT_EQ(sandbox.execution->fault_instruction, interpreter.execution->fault_instruction);
}

}  // namespace
}  // namespace trama::ebpf
