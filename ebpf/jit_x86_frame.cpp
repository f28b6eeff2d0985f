// Ways into programs and functions, out of them, and to C functions.
#include <bit>

#include "ebpf/jit_runtime.hpp"
#include "ebpf/jit_x86.hpp"

namespace trama::ebpf {

using namespace asmjit::x86;

namespace {

const Gp kExecution = r12, kAddress = r10, kFrame = rbp;
constexpr size_t kFirstFrameEnd = offsetof(Execution, stack) + kFrameBytes;
constexpr size_t kLastFrameEnd = offsetof(Execution, stack) + sizeof Execution::stack;

}  // namespace

std::unique_ptr<JitTarget> JitTarget::make(asmjit::CodeHolder& code) { return std::make_unique<X86Target>(code); }
const char* JitTarget::name() noexcept { return "x86-64"; }

X86Target::Gp X86Target::register_of(uint8_t number) {
  static const Gp kRegisters[] = {rax, rdi, rsi, rdx, rcx, r8, rbx, r13, r14, r15, rbp};
  return kRegisters[number];
}

X86Target::Gp X86Target::sized(const Gp& full, uint32_t bytes) {
  switch (bytes) {
    case 1: return full.r8();
    case 2: return full.r16();
    case 4: return full.r32();
    default: return full;
  }
}

X86Target::Mem X86Target::field(size_t offset, uint32_t bytes) {
  return ptr(kExecution, static_cast<int32_t>(offset), bytes);
}

// Behind its return address, r12, rbp and what else is kept a program needs 8 bytes more, or none, so that the stack is
// aligned there; one that is called has a return address of its own.
bool X86Target::pads(const JitFrame& frame) {
  const bool even = std::popcount(frame.kept) % 2 == 0;
  return even != frame.called;
}

void X86Target::enter(const JitFrame& frame) {
  a_.push(r12);
  a_.push(kFrame);
  for (uint8_t number = 6; number <= 9; ++number)
    if ((frame.kept >> number & 1) != 0) a_.push(register_of(number));
  if (pads(frame)) a_.sub(rsp, 8);
  a_.mov(kExecution, rdi);
  if (frame.deep) a_.mov(field(offsetof(Execution, native_stack), 8), rsp);
  a_.lea(kFrame, ptr(kExecution, static_cast<int32_t>(kFirstFrameEnd)));
  if (frame.context) a_.mov(register_of(1), asmjit::imm(kContextTag));
}

void X86Target::leave(const JitFrame& frame) {
  if (pads(frame)) a_.add(rsp, 8);
  for (uint8_t number = 9; number >= 6; --number)
    if ((frame.kept >> number & 1) != 0) a_.pop(register_of(number));
  a_.pop(kFrame);
  a_.pop(r12);
  a_.ret();
}

void X86Target::abort(const JitFrame& frame) {
  if (frame.deep) a_.mov(rsp, field(offsetof(Execution, native_stack), 8));
  a_.xor_(eax, eax);
  leave(frame);
}

void X86Target::clear_frame() {
  constexpr int32_t kBytes = 16;
  a_.pxor(xmm0, xmm0);
  for (int32_t at = -static_cast<int32_t>(kFrameBytes); at < 0; at += kBytes) a_.movups(ptr(kFrame, at), xmm0);
}

void X86Target::call_function(const Label& function) {
  const Gp kept[] = {rbx, r13, r14, r15, rbp};
  for (const Gp& one : kept) a_.push(one);
  a_.add(kFrame, kFrameBytes);
  a_.call(function);
  for (size_t i = std::size(kept); i-- > 0;) a_.pop(kept[i]);
}

void X86Target::jump_by_table(const Label& table) {
  a_.lea(r11, ptr(table));
  a_.jmp(ptr(r11, rax, 3));
}

void X86Target::set_field(size_t offset, uint32_t value) { a_.mov(field(offset, 4), value); }

void X86Target::pay(uint32_t steps, const Label& out_of_steps) {
  a_.sub(field(offsetof(Execution, steps_left), 4), steps);
  a_.js(out_of_steps);
}

void X86Target::check_steps(const Label& out_of_steps) {
  a_.cmp(field(offsetof(Execution, steps_left), 4), 0);
  a_.jl(out_of_steps);
}

void X86Target::check_fault(const Label& faulted) {
  a_.cmp(field(offsetof(Execution, fault), 4), 0);
  a_.jne(faulted);
}

void X86Target::check_depth(const Label& too_deep) {
  a_.lea(r11, ptr(kExecution, static_cast<int32_t>(kLastFrameEnd)));
  a_.cmp(kFrame, r11);
  a_.je(too_deep);
}

void X86Target::call_helper(const void* function) {
  a_.mov(r9, kExecution);
  a_.mov(r11, asmjit::imm(function));
  a_.call(r11);
}

// The key is in r2 already.
void X86Target::call_lookup(LookupFunction function, const Map* map) {
  a_.mov(rdi, asmjit::imm(map));
  a_.mov(rdx, kExecution);
  a_.mov(r11, asmjit::imm(reinterpret_cast<const void*>(function)));
  a_.call(r11);
}

void X86Target::slow_accesses() {
  slow_load_ = label();
  slow_store_ = label();
  slow_access(slow_load_, reinterpret_cast<const void*>(&checked_load));
  slow_access(slow_store_, reinterpret_cast<const void*>(&checked_store));
}

// Called with the check in r11. With its return address, what it keeps and 8 bytes more, the stack is aligned.
void X86Target::slow_access(const Label& routine, const void* function) {
  const Gp kept[] = {rax, rdi, rsi, rdx, rcx, r8};
  a_.bind(routine);
  for (const Gp& one : kept) a_.push(one);
  a_.sub(rsp, 8);
  a_.mov(rdi, kExecution);
  a_.mov(rsi, kAddress);
  a_.mov(rdx, r11);
  a_.mov(r11, asmjit::imm(function));
  a_.call(r11);
  a_.mov(kAddress, rax);
  a_.add(rsp, 8);
  for (size_t i = std::size(kept); i-- > 0;) a_.pop(kept[i]);
  a_.ret();
}

void X86Target::slow_load(uint64_t check) {
  a_.mov(r11, asmjit::imm(check));
  a_.call(slow_load_);
}

void X86Target::slow_store(uint64_t check) {
  a_.mov(r11, asmjit::imm(check));
  a_.call(slow_store_);
}

}  // namespace trama::ebpf
