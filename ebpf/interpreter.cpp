#include "ebpf/interpreter.hpp"

#include <array>
#include <cstring>

#include "ebpf/arithmetic.hpp"
#include "ebpf/atomic_operation.hpp"
#include "ebpf/helpers.hpp"
#include "ebpf/instruction.hpp"
#include "ebpf/map.hpp"
#include "ebpf/memory_range.hpp"

namespace trama::ebpf {
// One run of one program. The next instruction goes from hand to hand instead of being a member: it stays in a
// register.
class Interpreter::Run {
 public:
  Run(const std::vector<std::vector<Operation>>& programs, Execution& execution)
      : programs_(programs), execution_(execution), frame_(execution.stack) {}

  uint64_t run(uint32_t program) {
    const Operation* at = enter(program, programs_[program].data());
    registers_[1] = kContextTag;
    for (;;) {
      const Operation* const next = step(at);
      if (!next) return done_ ? registers_[0] : fault(at);
      at = next;
    }
  }

 private:
  struct Caller {
    uint32_t program;
    const Operation* next;
    std::array<uint64_t, 4> kept;  // r6 to r9
  };
  using Next = const Operation*;  // null: the program ends, by itself (done_) or by a fault

  // The instruction and all that it does.
  [[gnu::always_inline]] Next step(const Operation* at) {
    uint64_t& to = registers_[at->to];
    const uint64_t from = registers_[at->from], immediate = at->immediate;
    // Each operation on registers has four codes: 64 and 32 bits, with a register and with an immediate.
#define TRAMA_ARITHMETIC(operation)                                                         \
  case BPF_ALU64 | (operation) | BPF_X: return compute((operation), to, from), at + 1;      \
  case BPF_ALU64 | (operation) | BPF_K: return compute((operation), to, immediate), at + 1; \
  case BPF_ALU | (operation) | BPF_X: return compute_32((operation), to, from), at + 1;     \
  case BPF_ALU | (operation) | BPF_K:                                                       \
    return compute_32((operation), to, immediate), at + 1;
#define TRAMA_CONDITION(condition)                                                              \
  case BPF_JMP | (condition) | BPF_X: return jump_if<uint64_t>((condition), to, from, at);      \
  case BPF_JMP | (condition) | BPF_K: return jump_if<uint64_t>((condition), to, immediate, at); \
  case BPF_JMP32 | (condition) | BPF_X: return jump_if<uint32_t>((condition), to, from, at);    \
  case BPF_JMP32 | (condition) | BPF_K:                                                         \
    return jump_if<uint32_t>((condition), to, immediate, at);
#define TRAMA_MEMORY(size, bytes)                                            \
  case BPF_LDX | BPF_MEM | (size): return load_memory<bytes>(to, from, at);  \
  case BPF_STX | BPF_MEM | (size): return store_memory<bytes>(to, from, at); \
  case BPF_ST | BPF_MEM | (size): return store_memory<bytes>(to, immediate, at);
    switch (at->code) {
      TRAMA_ARITHMETIC(BPF_ADD)
      TRAMA_ARITHMETIC(BPF_SUB)
      TRAMA_ARITHMETIC(BPF_MUL)
      TRAMA_ARITHMETIC(BPF_DIV)
      TRAMA_ARITHMETIC(BPF_MOD)
      TRAMA_ARITHMETIC(BPF_OR)
      TRAMA_ARITHMETIC(BPF_AND)
      TRAMA_ARITHMETIC(BPF_XOR)
      TRAMA_ARITHMETIC(BPF_MOV)
      TRAMA_ARITHMETIC(BPF_LSH)
      TRAMA_ARITHMETIC(BPF_RSH)
      TRAMA_ARITHMETIC(BPF_ARSH)
      TRAMA_ARITHMETIC(BPF_NEG)
      TRAMA_CONDITION(BPF_JEQ)
      TRAMA_CONDITION(BPF_JNE)
      TRAMA_CONDITION(BPF_JGT)
      TRAMA_CONDITION(BPF_JGE)
      TRAMA_CONDITION(BPF_JLT)
      TRAMA_CONDITION(BPF_JLE)
      TRAMA_CONDITION(BPF_JSET)
      TRAMA_CONDITION(BPF_JSGT)
      TRAMA_CONDITION(BPF_JSGE)
      TRAMA_CONDITION(BPF_JSLT)
      TRAMA_CONDITION(BPF_JSLE)
      TRAMA_MEMORY(BPF_B, 1)
      TRAMA_MEMORY(BPF_H, 2)
      TRAMA_MEMORY(BPF_W, 4)
      TRAMA_MEMORY(BPF_DW, 8)
      case BPF_ALU | BPF_END | BPF_TO_BE:
      case BPF_ALU | BPF_END | BPF_TO_LE:
        return swap_bytes(to, static_cast<int32_t>(immediate), (at->code & BPF_X) != 0) ? at + 1
                                                                                        : stop(Fault::bad_instruction);
      case BPF_STX | BPF_ATOMIC | BPF_W: return store_atomic<uint32_t>(at);
      case BPF_STX | BPF_ATOMIC | BPF_DW: return store_atomic<uint64_t>(at);
      case BPF_LD | BPF_IMM | BPF_DW: return load_wide(at);
      case BPF_JMP | BPF_JA: return jump(at, true);
      case BPF_JMP | BPF_EXIT: return leave();
      case BPF_JMP | BPF_CALL: return call(at);
      default: return stop(Fault::bad_instruction);
    }
#undef TRAMA_ARITHMETIC
#undef TRAMA_CONDITION
#undef TRAMA_MEMORY
  }

  Next stop(Fault fault) {
    execution_.fault = fault;
    return nullptr;
  }

  uint64_t fault(const Operation* at) {
    execution_.fault_program = program_;
    execution_.fault_instruction = static_cast<uint32_t>(at - first());
    return XDP_ABORTED;
  }

  static void compute_32(uint8_t operation, uint64_t& to, uint64_t operand) {
    auto result = static_cast<uint32_t>(to);
    compute(operation, result, static_cast<uint32_t>(operand));
    to = result;
  }

  const Operation* first() const { return programs_[program_].data(); }

  // Takes what the instruction costs. False: the steps are used up.
  bool pay(const Operation* at) {
    execution_.steps_left -= static_cast<int32_t>(at->cost);
    return execution_.steps_left >= 0;
  }

  // Jumps that lead outside the program were unpacked as unknown instructions.
  [[gnu::always_inline]] Next jump(const Operation* at, bool taken) {
    if (at->offset < 0 && !pay(at)) return stop(Fault::step_limit);
    return taken ? at + 1 + at->offset : at + 1;
  }

  template <class Word>
  [[gnu::always_inline]] Next jump_if(uint8_t condition, uint64_t a, uint64_t b, const Operation* at) {
    bool known = true;
    return jump(at, compare(condition, static_cast<Word>(a), static_cast<Word>(b), known));
  }

  Next load_wide(const Operation* at) {
    uint64_t& to = registers_[at->to];
    to = at->immediate;
    if (at->from != BPF_PSEUDO_MAP_IDX_VALUE) return at + 2;
    const auto map = static_cast<uint32_t>(to >> 32);
    if (map >= execution_.map_count) return stop(Fault::bad_instruction);
    to = reinterpret_cast<uint64_t>(execution_.maps[map]->layout().values) + static_cast<uint32_t>(to);
    return at + 2;
  }

  // The host's address, or 0. The value that was accessed last is remembered: the next access often goes there, too.
  [[gnu::always_inline]] uint64_t check(uint64_t address, uint32_t bytes, bool writes) {
    const auto stack = reinterpret_cast<uint64_t>(execution_.stack);
    if ((inside(address, bytes, execution_.data_meta, execution_.data_end) &&
         (execution_.packet_writable || !writes)) ||
        inside(address, bytes, stack, stack + sizeof execution_.stack) ||
        (inside(address, bytes, value_.first, value_.end) && (value_.writable || !writes)))
      return address;
    return check_elsewhere(address, bytes, writes);
  }

  [[gnu::noinline]] uint64_t check_elsewhere(uint64_t address, uint32_t bytes, bool writes) {
    const ValueRange value = value_around(execution_, address);
    if (value.end == 0) return check_access(&execution_, address, bytes, writes, Region::any);
    value_ = value;
    return inside(address, bytes, value.first, value.end) && (value.writable || !writes) ? address : 0;
  }

  bool load_context(uint64_t& to, uint64_t field) const {
    switch (field) {
      case offsetof(xdp_md, data): to = execution_.data; return true;
      case offsetof(xdp_md, data_end): to = execution_.data_end; return true;
      case offsetof(xdp_md, data_meta): to = execution_.data_meta; return true;
      case offsetof(xdp_md, ingress_ifindex): to = execution_.ingress_ifindex; return true;
      case offsetof(xdp_md, rx_queue_index): to = execution_.rx_queue_index; return true;
      default: return false;
    }
  }

  template <uint32_t kBytes>
  [[gnu::always_inline]] Next load_memory(uint64_t& to, uint64_t base, const Operation* at) {
    const uint64_t address = base + static_cast<uint64_t>(int64_t{at->offset});
    if (kBytes == 4 && address - kContextTag < sizeof(xdp_md))
      return load_context(to, address - kContextTag) ? at + 1 : stop(Fault::bad_access);
    const uint64_t good = check(address, kBytes, false);
    if (good == 0) return stop(Fault::bad_access);
    to = 0;
    std::memcpy(&to, reinterpret_cast<const void*>(good), kBytes);
    return at + 1;
  }

  template <uint32_t kBytes>
  [[gnu::always_inline]] Next store_memory(uint64_t base, uint64_t value, const Operation* at) {
    const uint64_t good = check(base + static_cast<uint64_t>(int64_t{at->offset}), kBytes, true);
    if (good == 0) return stop(Fault::bad_access);
    std::memcpy(reinterpret_cast<void*>(good), &value, kBytes);
    return at + 1;
  }

  template <class Word>
  Next store_atomic(const Operation* at) {
    const uint64_t address = registers_[at->to] + static_cast<uint64_t>(int64_t{at->offset});
    const uint64_t good = check_atomic(&execution_, address, sizeof(Word), Region::any);
    if (good == 0) return stop(Fault::bad_access);
    const bool known =
        atomic_operation<Word>(static_cast<int32_t>(at->immediate), good, registers_[at->from], registers_[0]);
    return known ? at + 1 : stop(Fault::bad_instruction);
  }

  // A function or a program begins in the current frame.
  Next enter(uint32_t program, const Operation* at) {
    program_ = program;
    clear_frame();
    registers_[10] = reinterpret_cast<uint64_t>(frame_) + kFrameBytes;
    return at;
  }

  // In parts, of which each is a few vector stores: for the whole GCC takes `rep stos`, which takes 20 ns to begin.
  void clear_frame() {
    constexpr uint32_t kPart = 64;
#pragma GCC unroll 8
    for (uint32_t part = 0; part < kFrameBytes; part += kPart) std::memset(frame_ + part, 0, kPart);
  }

  Next call(const Operation* at) {
    if (at->from == BPF_PSEUDO_CALL) return call_function(at);
    const auto number = static_cast<int32_t>(at->immediate);
    if (at->from != 0) return stop(Fault::bad_instruction);
    if (number == BPF_FUNC_tail_call) return call_tail(at);
    const HelperInfo* const helper = find_helper(number);
    if (!helper) return stop(Fault::bad_instruction);
    registers_[0] =
        helper->function(registers_[1], registers_[2], registers_[3], registers_[4], registers_[5], &execution_);
    if (execution_.fault != Fault::none) return nullptr;
    return execution_.steps_left >= 0 ? at + 1 : stop(Fault::step_limit);
  }

  Next call_function(const Operation* at) {
    if (!pay(at)) return stop(Fault::step_limit);
    if (depth_ + 1 == kMaxFrames) return stop(Fault::call_depth);
    callers_[depth_++] = {program_, at + 1, {registers_[6], registers_[7], registers_[8], registers_[9]}};
    frame_ += kFrameBytes;
    return enter(program_, at + 1 + static_cast<int64_t>(at->immediate));
  }

  Next call_tail(const Operation* at) {
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
    return caller.next;
  }

  const std::vector<std::vector<Operation>>& programs_;
  Execution& execution_;
  uint32_t program_ = 0, depth_ = 0;
  bool done_ = false;
  uint8_t* frame_;
  ValueRange value_;
  // 16, because an instruction has room for numbers up to 15, which the verifier refuses.
  std::array<uint64_t, 16> registers_{};
  std::array<Caller, kMaxFrames> callers_;
};

uint64_t Interpreter::run(uint32_t program, Execution& execution) const noexcept {
  return Run(programs_, execution).run(program);
}

}  // namespace trama::ebpf
