// One random program: its code, function by function, action by action. See random_program.hpp.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/ebpf/assembler.hpp"
#include "tests/ebpf/random_program.hpp"

namespace trama::ebpf {

// The maps of every object, by number.
constexpr int kArray = 0, kOwnArray = 1, kHash = 2, kLpm = 3, kPrograms = 4, kSingle = 5;

class RandomCode {
 public:
  // The program with this index of so many.
  RandomCode(Random& random, int index, int programs, Care care)
      : random_(random),
        index_(index),
        programs_(programs),
        care_(care),
        numbers_(random() % 2 == 0 ? kRegisters : kRegisters - 1) {}

  std::vector<bpf_insn> make();

 private:
  static constexpr int kRegisters = 10;  // r0 to r9
  static constexpr int kSizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW};
  // The frame of every function.
  static constexpr int kContextSlot = -8, kFirstNumberSlot = -80, kNumberSlots = 9, kKeySlot = -104;
  static constexpr int kCallerSlot = -112, kPointerSlot = -120;  // a caller's r10; a pointer, for a moment
  static constexpr int kCounterSlots[] = {-88, -96};
  // Beside the main program; each may call those behind it.
  static constexpr int kFunctions = 3;

  int below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  bool one_in(int count) { return below(count) == 0; }
  int number() { return below(numbers_); }
  static std::string name_of(int function) { return "function" + std::to_string(function); }
  std::string new_label() { return "label" + std::to_string(labels_++); }
  bool careless() { return care_ == Care::little && one_in(4); }
  int number_slot() { return kFirstNumberSlot + 8 * below(kNumberSlots); }

  // Registers that are all different.
  template <size_t kCount>
  std::array<int, kCount> different() {
    std::vector<int> all;
    for (int i = 0; i < numbers_; ++i) all.push_back(i);
    std::shuffle(all.begin(), all.end(), random_);
    std::array<int, kCount> some;
    std::copy_n(all.begin(), kCount, some.begin());
    return some;
  }

  uint64_t wide_number();
  int32_t short_number() { return static_cast<int32_t>(wide_number()); }
  void fill(int to);
  void fill_from(int first, int last);
  bool keeps_context_in_register() const { return numbers_ < kRegisters; }  // r9; else in the frame
  void context_to(int to);
  // Functions get a stack pointer, through which they store. Our verifier knows no more of its own frame then.
  bool has_caller_stack() const { return function_ > 0 && keeps_context_in_register(); }

  void begin();
  void end();
  void actions(int count);
  void action();
  void arithmetic();
  void one_operand();
  void jump_forward();
  void nested(int count);
  void loop();
  void call_function();
  void call_program();

  void use_stack();
  void use_caller_stack();
  void use_caller_context();
  void use_atomic(int base, int offset);
  void use_memory(int base, int first, int room);
  void use_packet();
  void use_map();
  void key_for(int map);
  void use_single_value();
  void change_map();
  void load_bytes();
  void move_head();

  Random& random_;
  const int index_, programs_;
  const Care care_;
  const int numbers_;  // r0 to this one, excluded, are numbers
  Assembler code_;
  int function_ = 0, labels_ = 0;
  size_t nesting_ = 0;
  std::array<bool, kFunctions + 1> called_{};
};

}  // namespace trama::ebpf
