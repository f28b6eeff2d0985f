// What machine code leaves as it was for who called it; and jumps that were turned round.
#include <array>

#include "ebpf/helpers.hpp"
#include "tests/ebpf/jit_programs.hpp"
#include "tests/ebpf/jit_sandbox.hpp"

namespace trama::ebpf {
namespace {

#if defined(__x86_64__)

// Calls a program with numbers in the registers that C functions keep; what is in them afterwards. Were rbp, which
// holds the stack's pointer meanwhile, not kept, this wouldn't come back.
struct Kept {
  std::array<uint64_t, 5> registers{};  // rbx, r12 to r15
  uint64_t verdict = 0;
};
[[gnu::noinline]] Kept call(Jit::Entry entry, Execution* execution) {
  Kept kept;
  uint64_t* const out = kept.registers.data();
  asm volatile(
      "push %%rbp\n push %[out]\n mov %%rsp, %%rbp\n sub $256, %%rsp\n and $-16, %%rsp\n"
      "mov $1001, %%ebx\n mov $1002, %%r12d\n mov $1003, %%r13d\n mov $1004, %%r14d\n mov $1005, %%r15d\n"
      "call *%[entry]\n"
      "mov %%rbp, %%rsp\n pop %%rcx\n pop %%rbp\n"
      "mov %%rbx, (%%rcx)\n mov %%r12, 8(%%rcx)\n mov %%r13, 16(%%rcx)\n mov %%r14, 24(%%rcx)\n mov %%r15, 32(%%rcx)\n"
      : "=a"(kept.verdict), "+D"(execution)
      : [entry] "d"(entry), [out] "c"(out)
      : "rbx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rsi", "memory", "cc");
  return kept;
}

const std::array<uint64_t, 5> kUntouched = {1001, 1002, 1003, 1004, 1005};

void expect_untouched(std::vector<std::vector<bpf_insn>> programs, Fault fault, uint64_t verdict) {
  JitSandbox sandbox(object_with_maps(std::move(programs)));
  ASSERT_TRUE(sandbox.jit);
  sandbox.maps->begin_batch(*sandbox.execution);
  const TestPacket packet(std::vector<uint8_t>(60));
  sandbox.execution->show(packet.view());
  const Kept kept = call(sandbox.jit->entry(0), sandbox.execution.get());
  sandbox.maps->end_batch(*sandbox.execution);
  EXPECT_EQ(kept.registers, kUntouched);
  EXPECT_EQ(sandbox.fault(), fault);
  EXPECT_EQ(kept.verdict, verdict);
}

Assembler& append(Assembler& code, const Assembler& more) {
  for (const bpf_insn& one : more.code()) code.raw(one.code, one.dst_reg, one.src_reg, one.off, one.imm);
  return code;
}

// Numbers in some of r6 to r9, what is done meanwhile, and then they are read: r0 stays what it is.
std::vector<bpf_insn> with_registers(uint32_t set, const Assembler& meanwhile) {
  Assembler code;
  for (int number = 6; number <= 9; ++number)
    if ((set >> (number - 6) & 1) != 0) code.mov_imm(number, 77);
  append(code, meanwhile);
  for (int number = 6; number <= 9; ++number)
    if ((set >> (number - 6) & 1) != 0) code.alu(BPF_XOR, 0, number).alu(BPF_XOR, 0, number);
  return code.exit().code();
}

// Code behind the exit of a program: a function that does this with all of them.
std::vector<bpf_insn> with_function(std::vector<bpf_insn> program, const Assembler& meanwhile) {
  const std::vector<bpf_insn> function = with_registers(15, meanwhile);
  for (size_t at = 0; at < program.size(); ++at)
    if (program[at].code == (BPF_JMP | BPF_CALL) && program[at].src_reg == BPF_PSEUDO_CALL)
      program[at].imm = static_cast<int32_t>(program.size() - at - 1);
  program.insert(program.end(), function.begin(), function.end());
  return program;
}

// Every set of r6 to r9, written by a program, by a function of it, and before a fault in either; with tail calls. A
// helper finds the stack aligned, or it may crash.
TEST(JitRegisters, CFunctionsFindTheirsAgain) {
  const Assembler harmless = Assembler().call(BPF_FUNC_get_smp_processor_id).mov_imm(0, 5);
  const Assembler faulty = Assembler().load(BPF_W, 2, 1, 0).load(BPF_B, 0, 2, 90);
  const Assembler call = Assembler().raw(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0);
  const Assembler tail = Assembler().map(2, kPrograms).mov_imm(3, 1).call(BPF_FUNC_tail_call).mov_imm(0, 3);
  for (uint32_t set = 0; set < 16; ++set) {
    SCOPED_TRACE(set);
    expect_untouched({with_registers(set, harmless)}, Fault::none, 5);
    expect_untouched({with_registers(set, faulty)}, Fault::bad_access, 0);
    expect_untouched({with_function(with_registers(set, call), harmless)}, Fault::none, 5);
    expect_untouched({with_function(with_registers(set, call), faulty)}, Fault::bad_access, 0);
    expect_untouched({with_registers(set, tail), with_registers(15, harmless)}, Fault::none, 5);
    expect_untouched({with_registers(set, tail), with_registers(15, faulty)}, Fault::bad_access, 0);
    expect_untouched({with_function(with_registers(set, call), tail), with_registers(15, faulty)}, Fault::bad_access,
                     0);
  }
}

#endif

// "if c goto +1; goto there": both ways of every condition, and BPF_JSET, which has no opposite.
TEST(JitRegisters, JumpsOverJumps) {
  const uint64_t numbers[] = {0, 1, 2, uint64_t{1} << 31, uint64_t{1} << 63, ~uint64_t{0}};
  for (const int condition :
       {BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE})
    for (const int kind : {BPF_JMP | BPF_X, BPF_JMP | BPF_K, BPF_JMP32 | BPF_X, BPF_JMP32 | BPF_K})
      for (const uint64_t a : numbers)
        for (const int b : {0, 1, -1}) {
          SCOPED_TRACE(std::to_string(condition) + " " + std::to_string(kind) + " " + std::to_string(a));
          const bool number = (kind & BPF_X) == 0;
          const auto code = Assembler()
                                .wide(2, a)
                                .mov_imm(3, b)
                                .raw(kind | condition, 2, number ? 0 : 3, 1, number ? b : 0)
                                .jump("there")
                                .mov_imm(0, 1)
                                .exit()
                                .label("there")
                                .mov_imm(0, 2)
                                .exit()
                                .code();
          const Object object = object_of({code});
          JitSandbox jit(object);
          ASSERT_TRUE(jit.jit);
          EXPECT_EQ(jit.run(), Sandbox(object).run());
        }
}

}  // namespace
}  // namespace trama::ebpf
