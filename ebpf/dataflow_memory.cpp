// Loads, stores and atomics of the verifier's dataflow.
#include <algorithm>

#include "ebpf/dataflow.hpp"
#include "ebpf/instruction.hpp"

namespace trama::ebpf {
namespace {

constexpr int64_t kStackBytes = kFrameBytes;

uint64_t bit(int32_t map) { return uint64_t{1} << map; }

uint64_t most_in(uint64_t bytes) { return bytes >= 8 ? kAnyNumber : (uint64_t{1} << bytes * 8) - 1; }

}  // namespace

Dataflow::Access Dataflow::access_of(const bpf_insn& instruction, const Register& base) const {
  return {base, int64_t{base.offset} + instruction.off, base.most, access_bytes(instruction)};
}

// Is all of it inside what the base points to?
bool Dataflow::proven(const Access& access) const {
  const Register& base = access.base;
  const auto end = access.low + static_cast<int64_t>(access.spread + access.bytes);
  switch (base.base) {
    case Base::packet: return access.low >= 0 && end <= base.range;
    case Base::stack: return access.low >= -kStackBytes && end <= 0;
    case Base::value: return access.low >= 0 && end <= int64_t{object_.maps[static_cast<size_t>(base.id)].value_size};
    case Base::event: return access.low >= 0 && end <= base.id;
    default: return false;
  }
}

// Refuses what can't be right on any way, and notes what a store that may go anywhere means.
void Dataflow::check_access_kind(uint32_t at, const Access& access, bool writes) {
  const Register& base = access.base;
  switch (base.base) {
    case Base::scalar:
      return refuse(at, "memory is accessed through a number, not a pointer",
                    "if it was a pointer: pointers keep their kind only through additions and subtractions");
    case Base::map: return refuse(at, "the inside of a map is accessed, not of one of its values");
    case Base::packet_end: return refuse(at, "memory behind the end of the packet is accessed");
    case Base::context: return refuse(at, "the context (struct xdp_md) may not be written");
    case Base::stack:
      if (access.spread == 0 && !proven(access))
        refuse(at, "the access is outside the function's stack of " + std::to_string(kFrameBytes) + " bytes");
      return;
    case Base::value: {
      const MapSpec& spec = object_.maps[static_cast<size_t>(base.id)];
      const bool read_only = spec.section == Section::rodata || (spec.flags & BPF_F_RDONLY_PROG) != 0;
      if (writes && read_only) refuse(at, "map " + spec.name + " is read-only for programs");
      return;
    }
    default: return;
  }
}

void Dataflow::note_stack_use(const Access& access) {
  if (!facts_ || access.base.base != Base::stack) return;
  const int64_t depth = std::clamp<int64_t>(-access.low, 0, kStackBytes);
  uint32_t& used = facts_->functions[function_].stack_bytes;
  used = std::max(used, static_cast<uint32_t>(depth));
}

// Reads of bytes that may not have been written are reads of zeros.
void Dataflow::note_stack_read(const State& state, const Access& access) {
  if (!facts_) return;
  bool& zero = facts_->functions[function_].zero_stack;
  if (access.base.base != Base::stack) return;
  if (access.spread != 0) zero = true;
  for (uint64_t byte = 0; byte < access.bytes; ++byte) {
    const int64_t place = kStackBytes + access.low + static_cast<int64_t>(byte);
    if (place < 0 || place >= kStackBytes) continue;
    const auto index = static_cast<uint64_t>(place);
    if ((state.slots[index / 8].written >> index % 8 & 1) == 0) zero = true;
  }
}

void Dataflow::note_read(const Access& access) {
  decide(access.base);
  const Register& base = access.base;
  if (base.base == Base::value || base.base == Base::value_or_null)
    properties().read_maps |= shared_maps_ & bit(base.id);
  if (base.base != Base::unknown) return;
  properties().read_maps |= shared_maps_;
  loose_reads_ = loose_reads_ || facts_;
}

void Dataflow::note_write(const Access& access, const Register& value, bool atomic_add) {
  decide(access.base);
  const Register& base = access.base;
  Properties& found = properties();
  switch (base.base) {
    case Base::value:
    case Base::value_or_null:
      if ((own_maps_ & bit(base.id)) != 0) {
        found.own_written_maps |= bit(base.id);
        found.deciding_maps |= value.origins & ~bit(base.id);
        return;
      }
      (atomic_add ? found.counting_maps : found.written_maps) |= shared_maps_ & bit(base.id);
      break;
    case Base::packet:
    case Base::packet_or_null:
    case Base::packet_meta: found.writes_packet = true; break;
    case Base::outer_stack: effect().clobbers = true; break;
    case Base::unknown:
      effect().clobbers = true;
      found.writes_packet = true;
      found.own_written_maps |= own_maps_;
      found.written_maps |= shared_maps_;
      break;
    default: break;
  }
  if (base.base != Base::stack) decide(value);
}

void Dataflow::load_context(uint32_t at, State& state) {
  const bpf_insn& instruction = code_[at];
  const Register from = state.registers[instruction.src_reg];
  Register& to = state.registers[instruction.dst_reg];
  const int64_t field = int64_t{from.offset} + instruction.off;
  if (access_bytes(instruction) != 4 || field % 4 != 0 || field < 0 || field >= int64_t{sizeof(xdp_md)})
    return refuse(at, "fields of the context (struct xdp_md) are read whole, 4 bytes each");
  switch (field) {
    case offsetof(xdp_md, data): to = Register::pointer(Base::packet); break;
    case offsetof(xdp_md, data_end): to = Register::pointer(Base::packet_end); break;
    case offsetof(xdp_md, data_meta): to = Register::pointer(Base::packet_meta); break;
    case offsetof(xdp_md, egress_ifindex):
      return refuse(at, "egress_ifindex can be read only by programs of a device map");
    default: to = Register::scalar(0xffffffff);
  }
  if (facts_) facts_->instructions[at].context_field = static_cast<int16_t>(field);
}

Register Dataflow::loaded_from_stack(const State& state, const Access& access) {
  const uint64_t most = most_in(access.bytes);
  if (access.spread != 0) {
    Register any;
    for (const Slot& slot : state.slots) any = Register::either(any, slot.content);
    return access.bytes == 8 ? any : Register::scalar(most, any.origins);
  }
  const int64_t first = kStackBytes + access.low;
  if (first < 0 || first + static_cast<int64_t>(access.bytes) > kStackBytes) return Register::unknown();
  const auto place = static_cast<uint64_t>(first);
  const Slot& slot = state.slots[place / 8];
  if (access.bytes == 8 && place % 8 == 0) return slot.content;
  const Register either = Register::either(slot.content, state.slots[(place + access.bytes - 1) / 8].content);
  return access.bytes == 8 ? either : Register::scalar(most, either.origins);
}

Register Dataflow::loaded(const bpf_insn& instruction, const State& state, const Access& access) {
  const uint64_t most = most_in(access_bytes(instruction));
  switch (access.base.base) {
    case Base::stack: return loaded_from_stack(state, access);
    case Base::value:
    case Base::value_or_null: return Register::scalar(most, access.base.origins | (own_maps_ & bit(access.base.id)));
    case Base::packet:
    case Base::packet_or_null:
    case Base::packet_meta:
    case Base::event:
    case Base::event_or_null: return Register::scalar(most, access.base.origins);
    case Base::outer_stack: break;
    // It may be a field of the context, which is an address although 4 bytes are asked for.
    default: return access.bytes >= 4 ? Register::unknown(own_maps_) : Register::scalar(most, own_maps_);
  }
  return access.bytes == 8 ? Register::unknown() : Register::scalar(most);
}

void Dataflow::step_load(uint32_t at, State& state) {
  const bpf_insn& instruction = code_[at];
  if (!read(at, state, instruction.src_reg)) return;
  const Access access = access_of(instruction, state.registers[instruction.src_reg]);
  InstructionFacts* const fact = facts_ ? &facts_->instructions[at] : nullptr;
  if (fact) fact->base = access.base.base;
  if (access.base.base == Base::context) {
    if (fact) fact->proven = true;
    return load_context(at, state);
  }
  if (access.base.maybe_context)
    return refuse(at, "the pointer is the context on some ways that lead here, and not on others");
  check_access_kind(at, access, false);
  note_stack_use(access);
  note_stack_read(state, access);
  note_read(access);
  note_access(at, access);
  state.registers[instruction.dst_reg] = loaded(instruction, state, access);
}

void Dataflow::note_access(uint32_t at, const Access& access) {
  if (!facts_) return;
  InstructionFacts& fact = facts_->instructions[at];
  fact.base = access.base.base;
  fact.proven = proven(access);
  if (fact.base == Base::value || fact.base == Base::value_or_null) fact.map = access.base.id;
  ++facts_->accesses;
  if (!fact.proven) ++facts_->unproven;
}

void Dataflow::stored_on_stack(State& state, const Access& access, const Register& value) {
  if (access.spread != 0) {
    for (Slot& slot : state.slots) slot.content = Register::either(slot.content, value);
    for (uint64_t place = 0; place < kFrameBytes; ++place) state.set_byte(place, std::nullopt);
    return;
  }
  const int64_t first = kStackBytes + access.low;
  for (uint64_t byte = 0; byte < access.bytes; ++byte) {
    const int64_t at = first + static_cast<int64_t>(byte);
    if (at < 0 || at >= kStackBytes) continue;
    const auto place = static_cast<uint64_t>(at);
    Slot& slot = state.slots[place / 8];
    if (access.bytes == 8 && first % 8 == 0) {
      slot.content = value;
    } else if (slot.content.base == Base::scalar && value.base == Base::scalar) {
      slot.content = Register::scalar(kAnyNumber, slot.content.origins | value.origins);
    } else {
      slot.content = Register::either(slot.content, value);
    }
    slot.written = static_cast<uint8_t>(slot.written | 1u << place % 8);
    const bool known = value.base == Base::scalar && value.exact;
    state.set_byte(place, known ? std::optional(static_cast<uint8_t>(value.most >> byte * 8)) : std::nullopt);
  }
}

void Dataflow::stored(State& state, const Access& access, const Register& value) {
  switch (access.base.base) {
    case Base::stack: stored_on_stack(state, access, value); break;
    case Base::outer_stack:  // frames lie side by side: it reaches into this one
    case Base::unknown: state.forget_slot_contents(); break;
    default: break;
  }
}

void Dataflow::step_store(uint32_t at, State& state) {
  const bpf_insn& instruction = code_[at];
  const bool from_register = class_of(instruction) == BPF_STX;
  if (!read(at, state, instruction.dst_reg)) return;
  if (from_register && !read(at, state, instruction.src_reg)) return;
  const Register value =
      from_register ? state.registers[instruction.src_reg] : Register::constant(immediate_64(instruction));
  const Access access = access_of(instruction, state.registers[instruction.dst_reg]);
  check_access_kind(at, access, true);
  if (value.can_be_context() && access.base.base != Base::stack)
    return refuse(at, "the context may be kept nowhere but on the function's own stack");
  note_stack_use(access);
  note_write(access, value, false);
  note_access(at, access);
  stored(state, access, value);
}

void Dataflow::step_atomic(uint32_t at, State& state) {
  const bpf_insn& instruction = code_[at];
  if (!read(at, state, instruction.dst_reg) || !read(at, state, instruction.src_reg)) return;
  if (instruction.imm == BPF_CMPXCHG && !read(at, state, 0)) return;
  const Access access = access_of(instruction, state.registers[instruction.dst_reg]);
  check_access_kind(at, access, true);
  if (access.base.is_packet() || access.base.base == Base::packet_meta)
    return refuse(at, "atomic operations on the packet aren't allowed");
  note_stack_use(access);
  note_stack_read(state, access);
  const bool adds = instruction.imm == BPF_ADD;
  if (!adds) note_read(access);
  const bool fetches = (instruction.imm & BPF_FETCH) != 0;
  note_write(access, state.registers[instruction.src_reg], adds);
  note_access(at, access);
  const bool aligned = access.spread == 0 && access.low % static_cast<int64_t>(access.bytes) == 0;
  if (facts_ && !aligned && facts_->instructions[at].proven) {
    facts_->instructions[at].proven = false;
    ++facts_->unproven;
  }
  const Register before = loaded(instruction, state, access);
  const uint64_t origins = before.origins | state.registers[instruction.src_reg].origins;
  stored(state, access, Register::scalar(kAnyNumber, origins));
  if (fetches)
    state.registers[instruction.imm == BPF_CMPXCHG ? 0 : instruction.src_reg] =
        Register::scalar(most_in(access.bytes), before.origins);
}

}  // namespace trama::ebpf
