// Records of a ring buffer that one function reserves and another one closes: what the kernel takes of that is taken
// here, and comes to the same end.
#include "tests/ebpf/jit_sandbox.hpp"
#include "tests/ebpf/kernel_object.hpp"

namespace trama::ebpf {
namespace {

constexpr int kRecordBytes = 16;

Assembler& reserve(Assembler& code) {
  return code.map(1, 0).mov_imm(2, kRecordBytes).mov_imm(3, 0).call(BPF_FUNC_ringbuf_reserve);
}
// Of the record in r6.
Assembler& write_and_submit(Assembler& code) {
  return code.store_imm(BPF_DW, 6, 8, 77).mov(1, 6).mov_imm(2, 0).call(BPF_FUNC_ringbuf_submit);
}
Assembler reserved() {
  Assembler code;
  return reserve(code).jump_imm(BPF_JEQ, 0, 0, "out").mov(6, 0);
}
Assembler& ended_with(Assembler& code, int verdict) {
  return code.mov_imm(0, verdict).exit().label("out").mov_imm(0, XDP_DROP).exit();
}

struct RecordCase {
  const char* what;
  Assembler program;
  uint64_t events;
};

std::vector<RecordCase> record_cases() {
  Assembler in_callee = Assembler().call("reserve").jump_imm(BPF_JEQ, 0, 0, "out").mov(6, 0);
  reserve(ended_with(write_and_submit(in_callee), XDP_PASS).label("reserve")).exit();

  Assembler tested_in_callee = Assembler().call("reserve").jump_imm(BPF_JEQ, 0, 0, "out").mov(6, 0);
  reserve(ended_with(write_and_submit(tested_in_callee), XDP_PASS).label("reserve"))
      .jump_imm(BPF_JNE, 0, 0, "there")
      .mov_imm(0, 0)
      .exit()
      .label("there")
      .store_imm(BPF_DW, 0, 0, 5)
      .exit();

  Assembler submitted = reserved().mov(1, 6).call("submit");
  write_and_submit(ended_with(submitted, XDP_PASS).label("submit").mov(6, 1)).mov_imm(0, 0).exit();

  Assembler discarded = reserved().mov(1, 6).call("discard");
  ended_with(discarded, XDP_PASS).label("discard").mov_imm(2, 0).call(BPF_FUNC_ringbuf_discard).mov_imm(0, 0).exit();

  Assembler between_functions = Assembler().call("reserve").jump_imm(BPF_JEQ, 0, 0, "out").mov(1, 0).call("submit");
  reserve(ended_with(between_functions, XDP_PASS).label("reserve")).exit();
  write_and_submit(between_functions.label("submit").mov(6, 1)).mov_imm(0, 0).exit();

  Assembler untested;
  reserve(untested)
      .mov(1, 0)
      .call("submit")
      .mov_imm(0, XDP_PASS)
      .exit()
      .label("submit")
      .jump_imm(BPF_JEQ, 1, 0, "none");
  write_and_submit(untested.mov(6, 1)).label("none").mov_imm(0, 0).exit();

  return {{"reserved in a function, submitted by its caller", in_callee, 1},
          {"reserved and tested in a function, submitted by its caller", tested_in_callee, 1},
          {"reserved, and submitted in a function", submitted, 1},
          {"reserved, and discarded in a function", discarded, 0},
          {"reserved in one function, submitted in another", between_functions, 1},
          {"reserved, and tested and submitted in a function", untested, 1}};
}

Object object_with_ring(const RecordCase& one) {
  return object_of({one.program.code()}, {map_spec("ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096)});
}

TEST(RingRecords, FunctionsMayShareThem) {
  for (const RecordCase& one : record_cases()) {
    SCOPED_TRACE(one.what);
    JitSandbox jit(object_with_ring(one));
    Sandbox interpreter(object_with_ring(one));
    ASSERT_TRUE(jit.jit);
    EXPECT_EQ(jit.run(), uint64_t{XDP_PASS}) << name_of(jit.fault());
    EXPECT_EQ(interpreter.run(), uint64_t{XDP_PASS}) << name_of(interpreter.fault());
    EXPECT_EQ(jit.execution->events, one.events);
    EXPECT_EQ(interpreter.execution->events, one.events);
  }
}

TEST(RingRecords, TheKernelTakesTheSame) {
  if (const int error = error_of_smallest_program(); error != 0)
    GTEST_SKIP() << "BPF is not allowed here: " << std::strerror(error);
  for (const RecordCase& one : record_cases()) {
    SCOPED_TRACE(one.what);
    const Object object = object_with_ring(one);
    KernelObject kernel(object);
    ASSERT_TRUE(kernel.taken());
    EXPECT_EQ(kernel.run(std::vector<uint8_t>(60)).verdict, uint32_t{XDP_PASS});
  }
}

}  // namespace
}  // namespace trama::ebpf
