// What the verifier knows of registers and of the stack at one point of a program, and how knowledge from two ways that
// meet there is joined.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "ebpf/execution.hpp"
#include "ebpf/verifier.hpp"

namespace trama::ebpf {

constexpr uint32_t kRegisters = 11;
constexpr uint32_t kSlots = kFrameBytes / 8;
constexpr uint64_t kAnyNumber = ~uint64_t{0};

// Pointers never move further than this from where they began, so that sums of offsets can't wrap.
constexpr int64_t kMaxOffset = 1 << 29;

struct Register {
  Base base = Base::unset;
  bool exact = false;          // scalar: it is `most`
  bool maybe_context = false;  // unknown: the context is one of the things that it may be
  // packet, packet_or_null: which pointer `offset` and `range` count from. 0 is the start of the packet; pointers with
  // the same id
  //   point into the packet at the same distance from their offsets.
  // value, value_or_null, map: index of the map. event, event_or_null: size of the record.
  int32_t id = 0;
  int32_t offset = 0;  // packet, stack, value, event: fixed part; r10 has offset 0
  int32_t range = 0;   // packet: so many bytes from the id's place on are known to be inside the packet
  // *_or_null: 0, or what all copies of the same result share; a test of one says something of all.
  int32_t twin = 0;
  // scalar: the largest it can be. value, stack, event: the largest that has been added beside the offset.
  uint64_t most = 0;
  uint64_t origins = 0;  // bit i: computed from what map i (one per CPU) holds

  bool operator==(const Register&) const = default;

  static Register scalar(uint64_t most = kAnyNumber, uint64_t origins = 0) {
    Register number;
    number.base = Base::scalar;
    number.most = most;
    number.origins = origins;
    return number;
  }
  static Register constant(uint64_t value) {
    Register number = scalar(value);
    number.exact = true;
    return number;
  }
  static Register pointer(Base base, int32_t id = 0, int32_t offset = 0) {
    Register pointer;
    pointer.base = base;
    pointer.id = id;
    pointer.offset = offset;
    return pointer;
  }
  static Register unknown(uint64_t origins = 0, bool maybe_context = false) {
    Register any;
    any.base = Base::unknown;
    any.origins = origins;
    any.maybe_context = maybe_context;
    return any;
  }
  static Register either(const Register& a, const Register& b) {
    return unknown(a.origins | b.origins, a.can_be_context() || b.can_be_context());
  }
  bool can_be_context() const { return base == Base::context || maybe_context; }
  bool is_null() const { return base == Base::scalar && most == 0; }
  bool may_be_null() const {
    return base == Base::value_or_null || base == Base::event_or_null || base == Base::packet_or_null;
  }
  bool is_packet() const { return base == Base::packet || base == Base::packet_or_null; }
  bool moves_with_packet() const { return is_packet() || base == Base::packet_end || base == Base::packet_meta; }
};

struct Slot {
  Register content = Register::constant(0);  // of all 8 bytes, if they were written as one; else a number or unknown
  uint8_t written = 0;                       // bit i: byte i
  uint8_t known = 0;                         // bit i: byte i is that of `bytes`, whatever the content may be
  uint64_t bytes = 0;                        // others are 0
  bool operator==(const Slot&) const = default;
};

struct State {
  std::array<Register, kRegisters> registers;
  std::array<Slot, kSlots> slots;

  bool operator==(const State&) const = default;

  template <class Change>
  void for_all(Change change) {
    for (Register& one : registers) change(one);
    for (Slot& slot : slots) change(slot.content);
  }
  void forget_packet_id(int32_t id);  // pointers with it are another instance now
  void forget_twin(int32_t twin);
  void forget_packet();         // it moved
  void forget_slot_contents();  // somebody may have written there

  // One byte of the stack, 0 the lowest. Nothing: it isn't known.
  std::optional<uint8_t> known_byte(uint64_t place) const;
  void set_byte(uint64_t place, std::optional<uint8_t> value);
};

// Joins knowledge: what holds on both ways. `widen`: after many rounds, give up bounds that keep growing.
Register join(const Register& a, const Register& b, bool widen);

// Joins `incoming` into `state`, the one at the beginning of block `block`; true when something changed. Pointers into
// the packet that differ become a new one, of which the common distance to the end of the packet is known: so loops
// that walk headers are proven.
bool join_into(State& state, State incoming, uint32_t block, bool widen);

}  // namespace trama::ebpf
