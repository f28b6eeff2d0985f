// Loads, stores and atomics.
#include "ebpf/instruction.hpp"
#include "ebpf/jit_arm64.hpp"

namespace trama::ebpf {

using namespace asmjit::a64;

namespace {

const Gp kAddress = x11, kNumber = x10, kFailed = w12;

}  // namespace

// Near ones without an instruction more.
Arm64Target::Mem Arm64Target::memory(JitPlace place) {
  if (place.checked) return ptr(kAddress);
  if (place.offset >= -256 && place.offset <= 255) return ptr(register_of(place.base), place.offset);
  address_of(place);
  return ptr(kAddress);
}

void Arm64Target::load_field(uint8_t to, size_t offset, uint32_t bytes) {
  a_.ldr(half_or_whole(register_of(to), bytes == 8), field(offset));
}

void Arm64Target::load(uint32_t bytes, uint8_t to, JitPlace from) {
  const Gp target = register_of(to);
  const Mem there = memory(from);
  switch (bytes) {
    case 1: a_.ldrb(target.w(), there); return;
    case 2: a_.ldrh(target.w(), there); return;
    case 4: a_.ldr(target.w(), there); return;
    default: a_.ldr(target, there); return;
  }
}

void Arm64Target::store(uint32_t bytes, JitPlace to, JitOperand from) {
  if (!from.is_register) move_number(kNumber, static_cast<uint64_t>(int64_t{from.immediate}));
  const Gp value = from.is_register ? register_of(from.number) : kNumber;
  const Mem there = memory(to);
  switch (bytes) {
    case 1: a_.strb(value.w(), there); return;
    case 2: a_.strh(value.w(), there); return;
    case 4: a_.str(value.w(), there); return;
    default: a_.str(value, there); return;
  }
}

void Arm64Target::address_of(JitPlace place) { add_number(kAddress, register_of(place.base), place.offset); }

// Never by address + bytes, which wraps.
void Arm64Target::check_packet(uint32_t bytes, const Label& elsewhere) {
  a_.ldr(x9, field(offsetof(Execution, data_meta)));
  a_.ldr(x10, field(offsetof(Execution, data_end)));
  a_.cmp(kAddress, x9);
  a_.b(CondCode::kLO, elsewhere);
  a_.sub(x10, x10, bytes);
  a_.cmp(kAddress, x10);
  a_.b(CondCode::kHI, elsewhere);
}

void Arm64Target::take_loaded(uint8_t to) { a_.mov(register_of(to), kAddress); }

// stlxr w12, value, [x11]: this version of asmjit refuses to assemble it.
void Arm64Target::store_exclusive(bool wide, const Gp& value) {
  constexpr uint32_t kStoreRelease = 0x8800FC00, kWide = 0x40000000;
  a_.embedUInt32(kStoreRelease | (wide ? kWide : 0) | kFailed.id() << 16 | kAddress.id() << 5 | value.id());
}

void Arm64Target::change(int32_t operation, const Gp& to, const Gp& before, const Gp& value) {
  switch (operation & ~BPF_FETCH) {
    case BPF_ADD: a_.add(to, before, value); return;
    case BPF_OR: a_.orr(to, before, value); return;
    case BPF_AND: a_.and_(to, before, value); return;
    case BPF_XOR: a_.eor(to, before, value); return;
    default: a_.mov(to, value); return;  // BPF_XCHG
  }
}

// Tried until nobody came in between.
void Arm64Target::atomic(uint32_t bytes, int32_t operation, JitPlace place, uint8_t source) {
  const bool wide = bytes == 8;
  const Gp value = half_or_whole(register_of(source), wide);
  const Gp before = half_or_whole(x9, wide), after = half_or_whole(kNumber, wide);
  if (!place.checked) address_of(place);
  if (operation == BPF_CMPXCHG) return compare_and_exchange(wide, value);
  const Label again = label();
  a_.bind(again);
  a_.ldaxr(before, ptr(kAddress));
  change(operation, after, before, value);
  store_exclusive(wide, after);
  a_.cbnz(kFailed, again);
  if ((operation & BPF_FETCH) != 0) a_.mov(value, before);
}

void Arm64Target::compare_and_exchange(bool wide, const Gp& value) {
  const Gp before = half_or_whole(x9, wide), expected = half_or_whole(register_of(0), wide);
  const Label again = label(), done = label();
  a_.bind(again);
  a_.ldaxr(before, ptr(kAddress));
  a_.cmp(before, expected);
  a_.b(CondCode::kNE, done);
  store_exclusive(wide, value);
  a_.cbnz(kFailed, again);
  a_.bind(done);
  a_.mov(expected, before);
}

}  // namespace trama::ebpf
