// One run of one program by the interpreter: registers, memory, and what instructions do that is more than an operation
// on registers. For ebpf/interpreter.cpp, which goes from one instruction to the next.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>

#include "ebpf/arithmetic.hpp"
#include "ebpf/atomic_operation.hpp"
#include "ebpf/helpers.hpp"
#include "ebpf/instruction.hpp"
#include "ebpf/interpreter.hpp"
#include "ebpf/map.hpp"
#include "ebpf/memory_range.hpp"

namespace trama::ebpf {

// One run of one program.
class Interpreter::Run {
 public:
  Run(const std::vector<std::vector<Operation>>& programs, Execution& execution)
      : programs_(programs), execution_(execution), frame_(execution.stack) {
    clear(reinterpret_cast<uint8_t*>(registers_.data()));
  }

  uint64_t run(uint32_t program);

 private:
  struct Caller {
    uint32_t program;
    const Operation* next;
    std::array<uint64_t, 4> kept;  // r6 to r9
  };
  static constexpr uint32_t kNearBytes = 128;
  using Next = const Operation*;  // null: the program ends, by itself (done_) or by a fault

  [[gnu::cold]] Next stop(Fault fault) {
    execution_.fault = fault;
    return nullptr;
  }

  uint64_t fault(const Operation* at) {
    execution_.fault_program = program_;
    execution_.fault_instruction = static_cast<uint32_t>(at - programs_[program_].data());
    return XDP_ABORTED;
  }

  static void compute_32(uint8_t operation, uint64_t& to, uint64_t operand) {
    auto result = static_cast<uint32_t>(to);
    compute(operation, result, static_cast<uint32_t>(operand));
    to = result;
  }

  // Takes what the instruction costs: calls, and jumps backward, taken or not. False, and a fault: the steps are used
  // up.
  [[gnu::always_inline]] bool pay(const Operation* at) {
    if (at->cost == 0) return true;
    execution_.steps_left -= static_cast<int32_t>(at->cost);
    return execution_.steps_left >= 0 || stop(Fault::step_limit) != nullptr;
  }

  template <class Word>
  static bool holds(uint8_t condition, uint64_t a, uint64_t b) {
    bool known = true;
    return compare(condition, static_cast<Word>(a), static_cast<Word>(b), known);
  }

  Next load_value(const Operation* at) {
    const auto map = static_cast<uint32_t>(at->immediate >> 32);
    if (map >= execution_.map_count) return stop(Fault::bad_instruction);
    registers_[at->to] =
        reinterpret_cast<uint64_t>(execution_.maps[map]->layout().values) + static_cast<uint32_t>(at->immediate);
    return at + 2;
  }

  bool in_packet(uint64_t address, uint64_t bytes, bool writes) const {
    return inside(address, bytes, execution_.data_meta, execution_.data_end) && (execution_.packet_writable || !writes);
  }
  bool on_stack(uint64_t address, uint64_t bytes) const {
    const auto stack = reinterpret_cast<uint64_t>(execution_.stack);
    return inside(address, bytes, stack, stack + sizeof execution_.stack);
  }
  // In what is clear of the current frame: at most kNearBytes.
  bool near(uint64_t address, uint64_t bytes) const { return address - near_ <= kNearBytes - bytes; }
  // The value that was found or accessed last: the next access often goes there, too.
  bool in_last_value(uint64_t address, uint64_t bytes, bool writes) const {
    return inside(address, bytes, value_.first, value_.end) && (value_.writable || !writes);
  }

  // May so many bytes be accessed there, where accesses mostly go? By r10, that is the stack.
  template <bool kOnFrame>
  [[gnu::always_inline]] bool good(uint64_t address, uint64_t bytes, bool writes) const {
    return (kOnFrame && near(address, bytes)) || in_packet(address, bytes, writes) ||
           in_last_value(address, bytes, writes);
  }
  // Or anywhere.
  bool good_elsewhere(uint64_t address, uint64_t bytes, bool writes) {
    if (near(address, bytes)) return true;
    if (on_stack(address, bytes)) return look_beyond(), true;
    const ValueRange value = value_around(execution_, address);
    if (value.end == 0) return check_access(&execution_, address, bytes, writes, Region::any) != 0;
    value_ = value;
    return in_last_value(address, bytes, writes);
  }

  static uint64_t address_of(uint64_t base, const Operation* at) {
    return base + static_cast<uint64_t>(int64_t{at->offset});
  }

  // The first three fields, which nearly all programs read, stand in the Execution as they do in struct xdp_md.
  static_assert(offsetof(Execution, data) == 2 * offsetof(xdp_md, data) &&
                offsetof(Execution, data_end) == 2 * offsetof(xdp_md, data_end) &&
                offsetof(Execution, data_meta) == 2 * offsetof(xdp_md, data_meta));
  [[gnu::always_inline]] Next load_context(const Operation* at, uint64_t field) {
    if (field > offsetof(xdp_md, data_meta) || field % 4 != 0) return load_other_context(at, field);
    std::memcpy(&registers_[at->to], reinterpret_cast<const uint8_t*>(&execution_) + 2 * field, sizeof(uint64_t));
    return at + 1;
  }
  [[gnu::noinline]] Next load_other_context(const Operation* at, uint64_t field) {
    uint64_t& to = registers_[at->to];
    switch (field) {
      case offsetof(xdp_md, ingress_ifindex): to = execution_.ingress_ifindex; break;
      case offsetof(xdp_md, rx_queue_index): to = execution_.rx_queue_index; break;
      default: return stop(Fault::bad_access);
    }
    return at + 1;
  }

  template <uint32_t kBytes>
  [[gnu::always_inline]] Next take(const Operation* at, uint64_t address) {
    uint64_t loaded = 0;
    std::memcpy(&loaded, reinterpret_cast<const void*>(address), kBytes);
    registers_[at->to] = loaded;
    return at + 1;
  }
  template <uint32_t kBytes, bool kOnFrame>
  [[gnu::always_inline]] Next load(const Operation* at) {
    const uint64_t address = address_of(registers_[at->from], at);
    if (kBytes == 4 && !kOnFrame && address - kContextTag < sizeof(xdp_md))
      return load_context(at, address - kContextTag);
    return good<kOnFrame>(address, kBytes, false) ? take<kBytes>(at, address)
                                                  : load_elsewhere<kBytes, kOnFrame>(at, address);
  }
  template <uint32_t kBytes, bool kOnFrame>
  [[gnu::noinline]] Next load_elsewhere(const Operation* at, uint64_t address) {
    if (kBytes == 4 && kOnFrame && address - kContextTag < sizeof(xdp_md))
      return load_context(at, address - kContextTag);
    return good_elsewhere(address, kBytes, false) ? take<kBytes>(at, address) : stop(Fault::bad_access);
  }

  template <uint32_t kBytes>
  [[gnu::always_inline]] static Next put(const Operation* at, uint64_t address, uint64_t value) {
    std::memcpy(reinterpret_cast<void*>(address), &value, kBytes);
    return at + 1;
  }
  template <uint32_t kBytes, bool kOnFrame>
  [[gnu::always_inline]] Next store(const Operation* at, uint64_t value) {
    const uint64_t address = address_of(registers_[at->to], at);
    return good<kOnFrame>(address, kBytes, true) ? put<kBytes>(at, address, value)
                                                 : store_elsewhere<kBytes>(at, address, value);
  }
  template <uint32_t kBytes>
  [[gnu::noinline]] Next store_elsewhere(const Operation* at, uint64_t address, uint64_t value) {
    return good_elsewhere(address, kBytes, true) ? put<kBytes>(at, address, value) : stop(Fault::bad_access);
  }

  template <class Word>
  [[gnu::noinline]] Next store_atomic(const Operation* at) {
    const uint64_t address = address_of(registers_[at->to], at);
    look_beyond();
    const uint64_t place = check_atomic(&execution_, address, sizeof(Word), Region::any);
    if (place == 0) return stop(Fault::bad_access);
    const bool known =
        atomic_operation<Word>(static_cast<int32_t>(at->immediate), place, registers_[at->from], registers_[0]);
    return known ? at + 1 : stop(Fault::bad_instruction);
  }

  Next swap(const Operation* at) {
    const bool known = swap_bytes(registers_[at->to], static_cast<int32_t>(at->immediate), at->offset != 0);
    return known ? at + 1 : stop(Fault::bad_instruction);
  }

  // In parts, of which each is a few vector stores: for more at once GCC takes `rep stos`, which takes 20 ns to begin.
  static void clear(uint8_t* memory) {
    std::memset(memory, 0, kNearBytes / 2);
    std::memset(memory + kNearBytes / 2, 0, kNearBytes / 2);
  }

  // A function or a program begins in the current frame.
  Next enter(uint32_t program, const Operation* at) {
    program_ = program;
    registers_[10] = reinterpret_cast<uint64_t>(frame_) + kFrameBytes;
    near_ = registers_[10] - kNearBytes;
    clear(reinterpret_cast<uint8_t*>(near_));
    if (looked_beyond_) clear_far(depth_);
    deepest_ = std::max(deepest_, depth_);
    return at;
  }

  // Frames are clear when their function begins. Most programs need little of them: the rest is cleared when somebody
  // looks there for the first time, and from then on with the frame.
  [[gnu::noinline]] void look_beyond() {
    if (looked_beyond_) return;
    looked_beyond_ = true;
    for (uint32_t depth = 0; depth <= deepest_; ++depth) clear_far(depth);
  }
  void clear_far(uint32_t depth) { std::memset(execution_.stack + depth * kFrameBytes, 0, kFrameBytes - kNearBytes); }

  [[gnu::noinline]] Next call_helper(const Operation* at) {
    const auto function = reinterpret_cast<HelperFunction>(at->immediate);
    look_beyond();
    registers_[0] = function(registers_[1], registers_[2], registers_[3], registers_[4], registers_[5], &execution_);
    if (execution_.fault != Fault::none) return nullptr;
    return execution_.steps_left >= 0 ? at + 1 : stop(Fault::step_limit);
  }

  // The helper itself does what isn't usual. What a map returns is one of its values, and needs no search afterwards.
  Next call_lookup(const Operation* at) {
    const uint64_t index = registers_[1] ^ kMapTag, key = registers_[2];
    if (index >= execution_.map_count) return call_helper(at);
    const Map& map = *execution_.maps[index];
    const MapLayout& layout = map.layout();
    if (!map.lookup_function() || layout.key_size >= kBytesOfAStep || !near(key, layout.key_size))
      return call_helper(at);
    const auto found =
        reinterpret_cast<uint64_t>(map.lookup_function()(&map, reinterpret_cast<const uint8_t*>(key), &execution_));
    registers_[0] = found;
    if (found != 0 && layout.reachable)
      value_ = {found, found + layout.value_size, layout.writable && (execution_.writable_maps >> index & 1) != 0};
    return at + 1;
  }

  // The call is behind the wide load of the map.
  Next call_lookup_in(const Operation*& at) {
    registers_[1] = at->immediate;
    at += 2;
    return call_lookup(at);
  }
  // And behind it "if r0 == 0 goto", forward.
  Next call_lookup_test(const Operation*& at) {
    const Next test = call_lookup_in(at);
    if (!test) return nullptr;
    return registers_[0] != 0 ? test + 1 : test->target;
  }

  [[gnu::noinline]] Next call_function(const Operation* at) {
    if (!pay(at)) return nullptr;
    if (depth_ + 1 == kMaxFrames) return stop(Fault::call_depth);
    callers_[depth_++] = {program_, at + 1, {registers_[6], registers_[7], registers_[8], registers_[9]}};
    frame_ += kFrameBytes;
    return enter(program_, at->target);
  }

  [[gnu::noinline]] Next call_tail(const Operation* at) {
    if (registers_[1] != kContextTag) return stop(Fault::bad_argument);
    const int64_t program = tail_call(&execution_, registers_[2], registers_[3]);
    if (execution_.fault != Fault::none) return nullptr;
    if (program < 0) return at + 1;
    if (static_cast<uint64_t>(program) >= programs_.size()) return stop(Fault::bad_argument);
    return enter(static_cast<uint32_t>(program), programs_[static_cast<size_t>(program)].data());
  }

  Next leave() {
    if (depth_ == 0) {
      done_ = true;
      return nullptr;
    }
    const Caller& caller = callers_[--depth_];
    program_ = caller.program;
    for (size_t kept = 0; kept < caller.kept.size(); ++kept) registers_[6 + kept] = caller.kept[kept];
    frame_ -= kFrameBytes;
    registers_[10] = reinterpret_cast<uint64_t>(frame_) + kFrameBytes;
    near_ = registers_[10] - kNearBytes;
    return caller.next;
  }

  const std::vector<std::vector<Operation>>& programs_;
  Execution& execution_;
  uint32_t program_ = 0, depth_ = 0, deepest_ = 0;
  bool done_ = false, looked_beyond_ = false;
  uint8_t* frame_;
  uint64_t near_ = 0;
  ValueRange value_;
  // 16, because an instruction has room for numbers up to 15, which the verifier refuses.
  std::array<uint64_t, 16> registers_;
  static_assert(sizeof registers_ == kNearBytes);
  std::array<Caller, kMaxFrames> callers_;
};

}  // namespace trama::ebpf
