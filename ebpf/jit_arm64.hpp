// Machine code for 64-bit Arm.
//
//   r0   r1   r2   r3   r4   r5   r6   r7   r8   r9   r10   Execution   address   scratch
//   x7   x0   x1   x2   x3   x4   x19  x20  x21  x22  x25   x23         x11       x9, x10, x12, x16
//
// Arguments of helpers are where C functions expect them, and r6 to r9 where they keep them. Nothing later than ARMv8.0
// is used: cores as in a BlueField-2 have no atomic instructions (LSE) but pairs of exclusive loads and stores.
#pragma once
#include <asmjit/core.h>
// The second needs the first; Debian's package lacks the header that includes both.
#include <asmjit/arm/a64assembler.h>

#include "ebpf/jit_target.hpp"

namespace trama::ebpf {

class Arm64Target final : public JitTarget {
 public:
  explicit Arm64Target(asmjit::CodeHolder& code) : a_(&code) {}

  void enter(const JitFrame& frame) override;
  void leave(const JitFrame& frame) override;
  void abort(const JitFrame& frame) override;
  void slow_accesses() override;

  void function_start() override;
  void clear_frame() override;
  void call_program(const Label& function) override { a_.bl(function); }
  void call_function(const Label& function) override;
  void exit() override;
  void jump_by_table(const Label& table) override;

  void set_field(size_t offset, uint32_t value) override;
  void pay(uint32_t steps, const Label& out_of_steps) override;
  void check_steps(const Label& out_of_steps) override;
  void check_fault(const Label& faulted) override;
  void check_depth(const Label& too_deep) override;

  void set(uint8_t to, uint64_t value) override;
  void compute(uint8_t operation, bool wide, uint8_t to, JitOperand from) override;
  void add(uint8_t to, uint8_t a, int32_t b) override { add_number(register_of(to), register_of(a), b); }
  void swap_bytes(uint8_t to, int32_t bits, bool to_big_endian) override;

  void jump(const Label& label) override { a_.b(label); }
  void jump_if(uint8_t condition, bool wide, uint8_t a, JitOperand b, const Label& label) override;

  void load_field(uint8_t to, size_t offset, uint32_t bytes) override;
  void load(uint32_t bytes, uint8_t to, JitPlace from) override;
  void store(uint32_t bytes, JitPlace to, JitOperand from) override;
  void atomic(uint32_t bytes, int32_t operation, JitPlace place, uint8_t source) override;
  void address_of(JitPlace place) override;
  void check_packet(uint32_t bytes, const Label& elsewhere) override;
  void slow_load(uint64_t check) override;
  void slow_store(uint64_t check) override;
  void take_loaded(uint8_t to) override;

  void call_helper(const void* function) override;
  void call_lookup(LookupFunction function, const Map* map) override;
  void lookup_array(const Map& map, JitKey key, const Label& null) override;
  void array_value(const Map& map, uint32_t index) override;
  // Counts of bits would go through vector registers: the map's own function does as well.
  bool lookup_prefix(const PrefixLookup&) override { return false; }
  void lookup_below(const PrefixLookup&) override {}

 private:
  using Gp = asmjit::a64::Gp;
  using Mem = asmjit::a64::Mem;

  asmjit::BaseEmitter& emitter() override { return a_; }
  static Gp register_of(uint8_t number);
  static Gp half_or_whole(const Gp& full, bool wide) { return wide ? full : full.w(); }
  static Mem field(size_t offset);
  static Mem own_values(const Map& map);

  void push(const Gp& one, const Gp& other);
  void pop(const Gp& one, const Gp& other);
  void move_number(const Gp& to, uint64_t value);
  void add_number(const Gp& to, const Gp& from, int64_t value);
  void call(const void* function);
  Gp operand(bool wide, JitOperand from);  // an immediate goes through x9
  bool compute_with_immediate(uint8_t operation, bool wide, const Gp& target, int32_t immediate);
  Mem memory(JitPlace place);
  void change(int32_t operation, const Gp& to, const Gp& before, const Gp& value);
  void store_exclusive(bool wide, const Gp& value);
  void compare_and_exchange(bool wide, const Gp& value);
  void slow_access(const Label& routine, const void* function);

  asmjit::a64::Assembler a_;
  Label slow_load_, slow_store_;
};

}  // namespace trama::ebpf
