// What stops machine code, beside the interpreter.
#include "tests/ebpf/jit_programs.hpp"
#include "tests/ebpf/jit_sandbox.hpp"

namespace trama::ebpf {
namespace {

// r2 stays what it is, but for the verifier it could be the stack as well: it knows nothing of it.
Assembler& hide(Assembler& code) {
  return code.load(BPF_DW, 3, 10, -16).jump_imm(BPF_JEQ, 3, 0, "hidden").mov(2, 10).label("hidden");
}

struct FaultCase {
  const char* what;
  Fault fault;
  Assembler program;
};

std::vector<FaultCase> fault_cases() {
  std::vector<FaultCase> cases = {
      {"behind the packet", Fault::bad_access, packet().load(BPF_B, 0, 6, 60).exit()},
      {"half behind the packet", Fault::bad_access, packet().load(BPF_DW, 0, 6, 53).exit()},
      {"before the packet", Fault::bad_access, packet().load(BPF_B, 0, 6, -1).exit()},
      {"a store behind the packet", Fault::bad_access, packet().store_imm(BPF_W, 6, 57, 1).exit()},
      {"null", Fault::bad_access,
       Assembler().store_imm(BPF_W, 10, -4, 9).lookup(kValues, -4).load(BPF_B, 0, 0, 0).exit()},
      {"between two values", Fault::bad_access,
       Assembler().store_imm(BPF_W, 10, -4, 0).lookup(kValues, -4).load(BPF_B, 0, 0, 12).exit()},
      {"a store behind the last value", Fault::bad_access,
       Assembler().store_imm(BPF_W, 10, -4, 3).lookup(kValues, -4).store_imm(BPF_W, 0, 12, 1).exit()},
      {"an atomic that isn't aligned", Fault::bad_access,
       Assembler().mov_imm(2, 1).mov_imm(0, 0).atomic(BPF_W, BPF_ADD, 10, -7, 2).exit()},
      {"above the stacks", Fault::bad_access,
       packet()
           .load(BPF_W, 2, 10, -4)
           .alu_imm(BPF_AND, 2, 8191)
           .mov(3, 10)
           .alu(BPF_ADD, 3, 2)
           .load(BPF_DW, 0, 3, 3584)
           .exit()},
      {"a spilled pointer that was overwritten through the caller's stack", Fault::bad_access,
       Assembler()
           .mov(1, 10)
           .call("f")
           .exit()
           .label("f")
           .map_value(7, kConstants, 0)
           .store(BPF_DW, 10, -8, 7)
           .wide(8, 1)
           .store(BPF_DW, 1, 504, 8)  // the callee's r10 - 8
           .load(BPF_DW, 9, 10, -8)
           .load(BPF_DW, 0, 9, 0)
           .exit()},
      {"an offset made of a field of the context that nobody knew for one", Fault::bad_access,
       Assembler()
           .wide(2, kContextTag)
           .store(BPF_DW, 10, -8, 2)
           .mov(1, 10)
           .call("f")
           .exit()
           .label("f")
           .load(BPF_DW, 2, 1, -8)
           .load(BPF_W, 3, 2, 0)
           .alu_imm(BPF_RSH, 3, 32)
           .mov(4, 3)
           .alu(BPF_DIV, 3, 4)
           .alu_imm(BPF_MUL, 3, 1 << 30)
           .map_value(7, kConstants, 0)
           .alu(BPF_ADD, 7, 3)
           .load(BPF_DW, 0, 7, 0)
           .exit()},
      {"an endless loop", Fault::step_limit, Assembler().label("again").mov_imm(0, 0).jump("again").exit()},
      {"an endless loop that is conditional", Fault::step_limit,
       Assembler().mov_imm(0, 0).label("again").jump_imm(BPF_JEQ, 0, 0, "again").exit()},
      {"a function that never returns", Fault::step_limit,
       Assembler().call("f").mov_imm(0, 0).exit().label("f").label("again").mov_imm(0, 0).jump("again").exit()},
      {"a program that isn't there", Fault::bad_argument,
       Assembler().map(2, kPrograms).mov_imm(3, 2).call(BPF_FUNC_tail_call).mov_imm(0, 0).exit()},
  };
  Assembler key = Assembler().mov_imm(2, 64);
  cases.push_back({"a key that isn't memory", Fault::bad_access,
                   hide(key).map(1, kValues).call(BPF_FUNC_map_lookup_elem).mov_imm(0, 0).exit()});
  Assembler constant = Assembler().map_value(2, kConstants, 0);
  cases.push_back(
      {"a store to a constant", Fault::bad_access, hide(constant).store_imm(BPF_B, 2, 0, 1).mov_imm(0, 0).exit()});
  Assembler no_map = Assembler().mov_imm(2, 12345);
  cases.push_back(
      {"no map", Fault::bad_argument,
       hide(no_map).mov(1, 2).mov(2, 10).add_imm(2, -8).call(BPF_FUNC_map_lookup_elem).mov_imm(0, 0).exit()});
  const Assembler reserve = Assembler()
                                .map(1, kRing)
                                .mov_imm(2, 16)
                                .mov_imm(3, 0)
                                .call(BPF_FUNC_ringbuf_reserve)
                                .jump_imm(BPF_JEQ, 0, 0, "out")
                                .mov(6, 0)
                                .mov(1, 0)
                                .mov_imm(2, 0);
  cases.push_back(
      {"a record that was closed", Fault::bad_access,
       Assembler(reserve).call(BPF_FUNC_ringbuf_submit).store_imm(BPF_B, 6, 0, 1).label("out").mov_imm(0, 0).exit()});
  cases.push_back({"a record that a function has closed", Fault::bad_access,
                   Assembler(reserve)
                       .call("close")
                       .store_imm(BPF_B, 6, 0, 1)
                       .label("out")
                       .mov_imm(0, 0)
                       .exit()
                       .label("close")
                       .call(BPF_FUNC_ringbuf_discard)
                       .mov_imm(0, 0)
                       .exit()});
  return cases;
}

TEST(Jit, FaultsAsTheInterpreterDoes) {
  for (const FaultCase& one : fault_cases()) {
    SCOPED_TRACE(one.what);
    const Object object = object_with_maps({one.program.code()});
    JitSandbox jit(object);
    Sandbox interpreter(object);
    ASSERT_TRUE(jit.jit);
    EXPECT_EQ(jit.run(), uint64_t{XDP_ABORTED});
    EXPECT_EQ(interpreter.run(), uint64_t{XDP_ABORTED});
    EXPECT_EQ(jit.fault(), one.fault) << name_of(jit.fault());
    EXPECT_EQ(interpreter.fault(), one.fault) << name_of(interpreter.fault());
    EXPECT_EQ(jit.execution->fault_instruction, interpreter.execution->fault_instruction);
    EXPECT_EQ(jit.execution->steps_left, interpreter.execution->steps_left);
  }
}

TEST(Jit, GoesOnAfterAFault) {
  const auto code = packet().load(BPF_B, 0, 6, 30).exit().code();
  JitSandbox sandbox(object_of({code}));
  ASSERT_TRUE(sandbox.jit);
  std::vector<uint8_t> bytes(31);
  bytes[30] = 77;
  for (int round = 0; round < 100; ++round) {
    sandbox.run(TestPacket(std::vector<uint8_t>(30)));
    ASSERT_EQ(sandbox.fault(), Fault::bad_access);
    ASSERT_EQ(sandbox.run(TestPacket(bytes)), 77u);
  }
}

}  // namespace
}  // namespace trama::ebpf
