// Bytes as programs that the verifier is likely to take. The input after its header is records of six bytes: what it
// is, and five choices. Most are one instruction, some a few that seldom meet by chance: a lookup, a test of the
// packet's end, a call with its arguments. Choices are read with a guess of what registers hold, so that memory is
// reached through pointers, and jumps lead to records; the guess knows nothing of jumps, and whether it was right is
// left to the verifier. One kind of record is any instruction at all, with any registers and offset.
#pragma once
#include <linux/bpf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "ebpf/execution.hpp"
#include "ebpf/helpers.hpp"

namespace trama::ebpf {

constexpr size_t kRecordBytes = 6;

class FilterInput {
 public:
  explicit FilterInput(std::span<const uint8_t> records) : bytes_(records) {}

  // The next program: its records up to one that ends it, then those of the functions that it calls.
  std::vector<bpf_insn> program();

 private:
  using Record = std::array<uint8_t, kRecordBytes>;
  enum class Kind : uint8_t { unset, number, context, packet, packet_end, stack, outer, value, event, unknown };
  // What a register is taken for. `offset`: from where it points to; of packets, numbers and what is unknown 0.
  struct Guess {
    Kind kind = Kind::unset;
    int offset = 0;
    int32_t map = 0;  // of values
  };
  struct Jump {
    size_t instruction;
    int record;  // where to; may lie outside the function
  };
  using Frame = std::array<Guess, kFrameBytes / 8>;
  struct Function {
    // When it is called first: r1 and r2, and the frame of its caller.
    std::array<Guess, 2> arguments;
    Frame outer;
    bool called = false;
    size_t entry = 0;
  };
  static constexpr int kRegisters = 11, kKeptContext = 6, kFrame = 10;
  static constexpr int kKeySlot = -16, kMemorySlot = -80;
  static constexpr size_t kFunctions = 4;  // with the main one; each calls those behind it

  // --- functions
  void add_function();
  void add_beginning(const Function& function);
  void resolve_jumps(size_t end);
  bool next_record();  // false: the function is at its end

  // --- records
  void add_record();
  void add_arithmetic(int code);
  void add_branch(int code);
  void add_memory(int code);
  void add_wide_load();
  void add_raw();
  void add_lookup();
  void add_packet_test();
  void add_call();
  void add_helper_call();
  void add_tail_call();
  void add_reserve();
  void add_bounded_step();
  void add_exit();

  // --- pieces
  void add(int code, int to, int from, int offset, int32_t immediate);
  void add_jump(int code, int to, int from, int32_t immediate, uint8_t choice);
  void add_number(int to, int32_t number);
  void add_numbers(int first, int last);
  void add_map(int to, int32_t map);
  void add_frame_address(int to, int offset);
  void copy(int to, int from);
  void give(int number, Argument kind, int32_t map);  // an argument of a helper
  void add_key(int32_t map);
  bool has(const HelperInfo& helper) const;
  void forget_arguments();  // after a call

  // --- choices
  int target(uint8_t choice) const;  // a register to write to
  int number(uint8_t choice) const;
  int any_set(uint8_t choice) const;
  int holding(std::initializer_list<Kind> kinds, uint8_t choice, int otherwise) const;
  int place(const Guess& base, int bytes) const;  // an offset for the instruction
  int kept_place(const Guess& base) const;
  int32_t constant() const;
  Guess loaded(int base, int offset, int bytes) const;
  void stored(int base, int offset, int bytes, int value);
  int slot_of(int base, int offset, int bytes) const;  // of the function's own frame, or -1
  static size_t slot_at(int offset) { return (kFrameBytes + static_cast<size_t>(offset)) / 8; }

  std::span<const uint8_t> bytes_;
  Record record_{};
  std::vector<bpf_insn> code_;
  std::array<Function, kFunctions> functions_;
  std::vector<std::pair<size_t, size_t>> calls_;  // instruction, function
  size_t function_ = 0;
  std::vector<size_t> records_;  // of this function: where the code of each begins
  std::vector<Jump> jumps_;
  std::array<Guess, kRegisters> registers_;
  Frame slots_;
};

}  // namespace trama::ebpf
