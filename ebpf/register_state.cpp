#include "ebpf/register_state.hpp"

#include <algorithm>

namespace trama::ebpf {

void State::forget_packet_id(int32_t id) {
  for_all([id](Register& one) {
    if (one.is_packet() && one.id == id) one = Register::unknown();
  });
}

void State::forget_twin(int32_t twin) {
  for_all([twin](Register& one) {
    if (one.may_be_null() && one.twin == twin) one.twin = 0;
  });
}

void State::forget_packet() {
  for_all([](Register& one) {
    if (one.moves_with_packet()) one = Register::unknown();
  });
}

void State::forget_slot_contents() {
  for (Slot& slot : slots) {
    slot.content = Register::either(slot.content, slot.content);
    slot.known = 0;
    slot.bytes = 0;
  }
}

std::optional<uint8_t> State::known_byte(uint64_t place) const {
  const Slot& slot = slots[place / 8];
  if ((slot.known >> place % 8 & 1) == 0) return std::nullopt;
  return static_cast<uint8_t>(slot.bytes >> place % 8 * 8);
}

void State::set_byte(uint64_t place, std::optional<uint8_t> value) {
  Slot& slot = slots[place / 8];
  const uint64_t shift = place % 8 * 8;
  const auto bit = static_cast<uint8_t>(1u << place % 8);
  slot.known = static_cast<uint8_t>(value ? slot.known | bit : slot.known & ~bit);
  slot.bytes = (slot.bytes & ~(uint64_t{0xff} << shift)) | uint64_t{value.value_or(0)} << shift;
}

namespace {

// Both point into the same thing: the smaller offset, and room for the difference.
Register join_offsets(const Register& a, const Register& b, bool widen) {
  const int64_t low = std::min(a.offset, b.offset);
  const uint64_t high =
      std::max(static_cast<uint64_t>(a.offset - low) + a.most, static_cast<uint64_t>(b.offset - low) + b.most);
  if (widen || high > static_cast<uint64_t>(kMaxOffset)) return Register::unknown(a.origins | b.origins);
  Register joined = a;
  joined.offset = static_cast<int32_t>(low);
  joined.most = high;
  joined.origins |= b.origins;
  return joined;
}

Base or_null(Base base) {
  switch (base) {
    case Base::packet: return Base::packet_or_null;
    case Base::value: return Base::value_or_null;
    case Base::event: return Base::event_or_null;
    default: return base;
  }
}

// A pointer, and null or the same pointer or null. What is known of the pointer holds when it isn't null.
bool join_null(const Register& pointer, const Register& other, Register& joined) {
  joined = pointer;
  joined.base = or_null(pointer.base);
  joined.twin = 0;
  joined.origins |= other.origins;
  if (!joined.may_be_null()) return false;
  if (other.is_null()) return true;
  const bool same_place = other.id == pointer.id && other.offset == pointer.offset && other.most == pointer.most;
  if (other.base != joined.base || !same_place) return false;
  joined.range = std::min(pointer.range, other.range);
  return true;
}

}  // namespace

Register join(const Register& a, const Register& b, bool widen) {
  if (a == b) return a;
  if (a.base == Base::unset || b.base == Base::unset) return {};
  Register joined = a;
  joined.origins |= b.origins;
  joined.maybe_context |= b.maybe_context;
  const bool same = a.base == b.base && a.id == b.id;
  switch (a.base) {
    case Base::scalar:
      if (same) return Register::scalar(widen ? kAnyNumber : std::max(a.most, b.most), joined.origins);
      break;
    case Base::packet:
      if (!same || a.offset != b.offset) break;
      joined.range = std::min(a.range, b.range);
      return joined;
    case Base::value:
    case Base::stack:
    case Base::event:
      if (same) return join_offsets(a, b, widen);
      break;
    case Base::packet_or_null:
    case Base::value_or_null:
    case Base::event_or_null: break;
    default:
      if (same && a.offset == b.offset) return joined;
  }
  if (join_null(a, b, joined) || join_null(b, a, joined)) return joined;
  return Register::either(a, b);
}

namespace {

// Bytes that are known, and the same, on both ways.
bool join_bytes(Slot& slot, const Slot& other) {
  const Slot before = slot;
  slot.bytes = 0;
  slot.known = 0;
  for (uint32_t byte = 0; byte < 8; ++byte) {
    const uint64_t mask = uint64_t{0xff} << byte * 8;
    if ((before.known & other.known & 1u << byte) == 0 || ((before.bytes ^ other.bytes) & mask) != 0) continue;
    slot.known = static_cast<uint8_t>(slot.known | 1u << byte);
    slot.bytes |= before.bytes & mask;
  }
  return slot.known != before.known;
}

bool join_packet_pointers(State& state, State& incoming, uint32_t block) {
  bool changed = false;
  for (uint32_t number = 0; number < kRegisters; ++number) {
    const Register a = state.registers[number], b = incoming.registers[number];
    if (!a.is_packet() || !b.is_packet() || a.offset < 0 || b.offset < 0) continue;
    const int32_t id = -static_cast<int32_t>(block * kRegisters + number + 1);
    if (a.id == b.id && a.offset == b.offset && a.id != id) continue;
    // Whoever else has this id got it in an earlier round: another pointer.
    incoming.registers[number] = Register::unknown();
    incoming.forget_packet_id(id);
    const bool null = a.may_be_null() || b.may_be_null();
    Register met = Register::pointer(null ? Base::packet_or_null : Base::packet, id);
    met.range = std::max(0, std::min(a.range - a.offset, b.range - b.offset));
    met.origins = a.origins | b.origins;
    incoming.registers[number] = met;
    if (!(state.registers[number] == met)) changed = true;
    state.registers[number] = met;
  }
  return changed;
}

}  // namespace

bool join_into(State& state, State incoming, uint32_t block, bool widen) {
  bool changed = join_packet_pointers(state, incoming, block);
  const auto take = [&changed, widen](Register& one, const Register& other) {
    const Register joined = join(one, other, widen);
    if (joined == one) return;
    one = joined;
    changed = true;
  };
  for (uint32_t number = 0; number < kRegisters; ++number) take(state.registers[number], incoming.registers[number]);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    take(state.slots[slot].content, incoming.slots[slot].content);
    const uint8_t written = state.slots[slot].written & incoming.slots[slot].written;
    if (written != state.slots[slot].written) changed = true;
    state.slots[slot].written = written;
    changed |= join_bytes(state.slots[slot], incoming.slots[slot]);
  }
  return changed;
}

}  // namespace trama::ebpf
