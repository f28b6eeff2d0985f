// Loads, stores and atomics.
#include "ebpf/instruction.hpp"
#include "ebpf/jit_x86.hpp"

namespace trama::ebpf {

using namespace asmjit::x86;

namespace {

const Gp kAddress = r10;

// Instructions cut immediates to the size of the store; asmjit wants to see them cut.
int64_t cut(int32_t immediate, uint32_t bytes) {
  switch (bytes) {
    case 1: return static_cast<int8_t>(immediate);
    case 2: return static_cast<int16_t>(immediate);
    default: return immediate;
  }
}

}  // namespace

X86Target::Mem X86Target::memory(JitPlace place, uint32_t bytes) {
  return place.checked ? ptr(kAddress, 0, bytes) : ptr(register_of(place.base), place.offset, bytes);
}

void X86Target::load_field(uint8_t to, size_t offset, uint32_t bytes) {
  a_.mov(sized(register_of(to), bytes), field(offset, bytes));
}

void X86Target::load(uint32_t bytes, uint8_t to, JitPlace from) {
  const Gp target = register_of(to);
  if (bytes < 4)
    a_.movzx(target.r32(), memory(from, bytes));
  else
    a_.mov(sized(target, bytes), memory(from, bytes));
}

void X86Target::store(uint32_t bytes, JitPlace to, JitOperand from) {
  if (from.is_register)
    a_.mov(memory(to, bytes), sized(register_of(from.number), bytes));
  else
    a_.mov(memory(to, bytes), cut(from.immediate, bytes));
}

void X86Target::address_of(JitPlace place) { a_.lea(kAddress, ptr(register_of(place.base), place.offset)); }

// Never by address + bytes, which wraps.
void X86Target::check_packet(uint32_t bytes, const Label& elsewhere) {
  a_.cmp(kAddress, field(offsetof(Execution, data_meta), 8));
  a_.jb(elsewhere);
  a_.mov(r11, field(offsetof(Execution, data_end), 8));
  a_.sub(r11, bytes);
  a_.cmp(kAddress, r11);
  a_.ja(elsewhere);
}

void X86Target::take_loaded(uint8_t to) { a_.mov(register_of(to), kAddress); }

void X86Target::atomic(uint32_t bytes, int32_t operation, JitPlace place, uint8_t source) {
  const Mem there = memory(place, bytes);
  const Gp value = sized(register_of(source), bytes);
  switch (operation) {
    case BPF_ADD: a_.lock().add(there, value); return;
    case BPF_OR: a_.lock().or_(there, value); return;
    case BPF_AND: a_.lock().and_(there, value); return;
    case BPF_XOR: a_.lock().xor_(there, value); return;
    case BPF_ADD | BPF_FETCH: a_.lock().xadd(there, value); return;
    case BPF_XCHG: a_.xchg(there, value); return;
    case BPF_CMPXCHG:
      a_.lock().cmpxchg(there, value);
      if (bytes == 4) a_.mov(eax, eax);  // clears the upper half, also where nothing was loaded
      return;
    default: return fetch_and_change(bytes, operation & ~BPF_FETCH, place, source);
  }
}

// The processor has no or, and, xor that say what was there: tried until nobody came in between. It compares with rax.
void X86Target::fetch_and_change(uint32_t bytes, int32_t operation, JitPlace place, uint8_t source) {
  const Gp before = sized(rax, bytes), changed = sized(r9, bytes), kept = r11;
  const Gp operand = sized(source == 0 ? kept : register_of(source), bytes);
  const Mem there = ptr(kAddress, 0, bytes);
  if (!place.checked) address_of(place);
  a_.mov(kept, rax);
  a_.mov(before, there);
  const Label again = label();
  a_.bind(again);
  a_.mov(changed, before);
  switch (operation) {
    case BPF_OR: a_.or_(changed, operand); break;
    case BPF_AND: a_.and_(changed, operand); break;
    default: a_.xor_(changed, operand);
  }
  a_.lock().cmpxchg(there, changed);
  a_.jne(again);
  a_.mov(changed, before);  // with the upper half cleared
  a_.mov(rax, kept);
  a_.mov(register_of(source), r9);
}

}  // namespace trama::ebpf
