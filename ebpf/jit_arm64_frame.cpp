// Ways into programs and functions, out of them, and to C functions.
#include "ebpf/jit_arm64.hpp"
#include "ebpf/jit_runtime.hpp"

namespace trama::ebpf {

using namespace asmjit::a64;

namespace {

const Gp kExecution = x23, kAddress = x11, kFrame = x25, kResult = x7;
constexpr int64_t kFirstFrameEnd = offsetof(Execution, stack) + kFrameBytes;
constexpr int64_t kLastFrameEnd = offsetof(Execution, stack) + sizeof Execution::stack;

}  // namespace

std::unique_ptr<JitTarget> JitTarget::make(asmjit::CodeHolder& code) { return std::make_unique<Arm64Target>(code); }
const char* JitTarget::name() noexcept { return "arm64"; }

Arm64Target::Gp Arm64Target::register_of(uint8_t number) {
  static const Gp kRegisters[] = {x7, x0, x1, x2, x3, x4, x19, x20, x21, x22, x25};
  return kRegisters[number];
}

Arm64Target::Mem Arm64Target::field(size_t offset) { return ptr(kExecution, static_cast<int32_t>(offset)); }

void Arm64Target::push(const Gp& one, const Gp& other) { a_.stp(one, other, ptr_pre(sp, -16)); }
void Arm64Target::pop(const Gp& one, const Gp& other) { a_.ldp(one, other, ptr_post(sp, 16)); }

// In pairs, so that the stack stays aligned.
void Arm64Target::enter(const JitFrame& frame) {
  push(x29, x30);
  push(x23, x25);
  if ((frame.kept & (1u << 6 | 1u << 7)) != 0) push(x19, x20);
  if ((frame.kept & (1u << 8 | 1u << 9)) != 0) push(x21, x22);
  a_.mov(kExecution, x0);
  if (frame.deep) {
    a_.mov(x9, sp);
    a_.str(x9, field(offsetof(Execution, native_stack)));
  }
  add_number(kFrame, kExecution, kFirstFrameEnd);
  if (frame.context) move_number(register_of(1), kContextTag);
}

void Arm64Target::leave(const JitFrame& frame) {
  a_.mov(x0, kResult);
  if ((frame.kept & (1u << 8 | 1u << 9)) != 0) pop(x21, x22);
  if ((frame.kept & (1u << 6 | 1u << 7)) != 0) pop(x19, x20);
  pop(x23, x25);
  pop(x29, x30);
  a_.ret(x30);
}

void Arm64Target::abort(const JitFrame& frame) {
  if (frame.deep) {
    a_.ldr(x9, field(offsetof(Execution, native_stack)));
    a_.mov(sp, x9);
  }
  move_number(kResult, 0);
  leave(frame);
}

void Arm64Target::function_start() { push(x29, x30); }

void Arm64Target::exit() {
  pop(x29, x30);
  a_.ret(x30);
}

void Arm64Target::clear_frame() {
  constexpr int32_t kBytes = 16;
  for (int32_t at = -static_cast<int32_t>(kFrameBytes); at < 0; at += kBytes) a_.stp(xzr, xzr, ptr(kFrame, at));
}

void Arm64Target::call_function(const Label& function) {
  const Gp kept[][2] = {{x19, x20}, {x21, x22}, {x25, xzr}};
  for (const auto& [one, other] : kept) push(one, other);
  add_number(kFrame, kFrame, kFrameBytes);
  a_.bl(function);
  for (size_t i = std::size(kept); i-- > 0;) pop(kept[i][0], kept[i][1]);
}

void Arm64Target::jump_by_table(const Label& table) {
  a_.adr(x9, table);
  a_.ldr(x9, ptr(x9, kResult, asmjit::arm::lsl(3)));
  a_.br(x9);
}

void Arm64Target::set_field(size_t offset, uint32_t value) {
  move_number(x9, value);
  a_.str(w9, field(offset));
}

void Arm64Target::pay(uint32_t steps, const Label& out_of_steps) {
  a_.ldr(w9, field(offsetof(Execution, steps_left)));
  if (steps < 4096) {
    a_.subs(w9, w9, steps);
  } else {
    move_number(x10, steps);
    a_.subs(w9, w9, w10);
  }
  a_.str(w9, field(offsetof(Execution, steps_left)));
  a_.b(CondCode::kMI, out_of_steps);
}

void Arm64Target::check_steps(const Label& out_of_steps) {
  a_.ldr(w9, field(offsetof(Execution, steps_left)));
  a_.cmp(w9, 0);
  a_.b(CondCode::kLT, out_of_steps);
}

void Arm64Target::check_fault(const Label& faulted) {
  a_.ldr(w9, field(offsetof(Execution, fault)));
  a_.cbnz(w9, faulted);
}

void Arm64Target::check_depth(const Label& too_deep) {
  add_number(x9, kExecution, kLastFrameEnd);
  a_.cmp(kFrame, x9);
  a_.b(CondCode::kEQ, too_deep);
}

void Arm64Target::call(const void* function) {
  move_number(x16, reinterpret_cast<uint64_t>(function));
  a_.blr(x16);
}

void Arm64Target::call_helper(const void* function) {
  a_.mov(x5, kExecution);
  call(function);
  a_.mov(kResult, x0);
}

// The key is in r2 already.
void Arm64Target::call_lookup(LookupFunction function, const Map* map) {
  move_number(x0, reinterpret_cast<uint64_t>(map));
  a_.mov(x2, kExecution);
  call(reinterpret_cast<const void*>(function));
  a_.mov(kResult, x0);
}

Arm64Target::Mem Arm64Target::own_values(const Map& map) {
  return field(offsetof(Execution, own_values) + map.index() * sizeof(Execution::own_values[0]));
}

void Arm64Target::lookup_array(const Map& map, JitKey key, const Label& null) {
  if (key.in_frame) add_number(x1, kFrame, key.offset);
  a_.ldr(w9, ptr(x1));
  move_number(x10, map.layout().max_entries);
  move_number(kResult, 0);
  a_.cmp(w9, w10);
  a_.b(CondCode::kHS, null);
  move_number(x10, map.layout().stride);
  a_.ldr(kResult, own_values(map));
  a_.madd(kResult, x9, x10, kResult);
}

void Arm64Target::array_value(const Map& map, uint32_t index) {
  a_.ldr(kResult, own_values(map));
  add_number(kResult, kResult, int64_t{index} * map.layout().stride);
}

void Arm64Target::slow_accesses() {
  slow_load_ = label();
  slow_store_ = label();
  slow_access(slow_load_, reinterpret_cast<const void*>(&checked_load));
  slow_access(slow_store_, reinterpret_cast<const void*>(&checked_store));
}

// Called with the check in x10.
void Arm64Target::slow_access(const Label& routine, const void* function) {
  const Gp kept[][2] = {{x0, x1}, {x2, x3}, {x4, x7}, {x29, x30}};
  a_.bind(routine);
  for (const auto& [one, other] : kept) push(one, other);
  a_.mov(x0, kExecution);
  a_.mov(x1, kAddress);
  a_.mov(x2, x10);
  call(function);
  a_.mov(kAddress, x0);
  for (size_t i = std::size(kept); i-- > 0;) pop(kept[i][0], kept[i][1]);
  a_.ret(x30);
}

void Arm64Target::slow_load(uint64_t check) {
  move_number(x10, check);
  a_.bl(slow_load_);
}

void Arm64Target::slow_store(uint64_t check) {
  move_number(x10, check);
  a_.bl(slow_store_);
}

}  // namespace trama::ebpf
