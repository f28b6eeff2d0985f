// Machine code for x86-64.
//
//   r0   r1   r2   r3   r4   r5   r6   r7   r8   r9   r10   Execution   address   scratch
//   rax  rdi  rsi  rdx  rcx  r8   rbx  r13  r14  r15  rbp   r12         r10       r9, r11
//
// Arguments of helpers are where C functions expect them, and r6 to r9 where they keep them. The stack is aligned to 16
// bytes wherever a function of a program is under way.
#pragma once
#include <asmjit/x86.h>

#include "ebpf/jit_target.hpp"

namespace trama::ebpf {

class X86Target final : public JitTarget {
 public:
  explicit X86Target(asmjit::CodeHolder& code) : a_(&code) {}

  void enter(const JitFrame& frame) override;
  void leave(const JitFrame& frame) override;
  void abort(const JitFrame& frame) override;
  void slow_accesses() override;

  void function_start() override {}
  void clear_frame() override;
  void call_program(const Label& function) override { a_.call(function); }
  void call_function(const Label& function) override;
  void exit() override { a_.ret(); }
  void jump_by_table(const Label& table) override;

  void set_field(size_t offset, uint32_t value) override;
  void pay(uint32_t steps, const Label& out_of_steps) override;
  void check_steps(const Label& out_of_steps) override;
  void check_fault(const Label& faulted) override;
  void check_depth(const Label& too_deep) override;

  void set(uint8_t to, uint64_t value) override;
  void compute(uint8_t operation, bool wide, uint8_t to, JitOperand from) override;
  void add(uint8_t to, uint8_t a, int32_t b) override;
  void swap_bytes(uint8_t to, int32_t bits, bool to_big_endian) override;

  void jump(const Label& label) override { a_.jmp(label); }
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
  bool lookup_prefix(const PrefixLookup& lookup) override;
  void lookup_below(const PrefixLookup& lookup) override;

 private:
  using Gp = asmjit::x86::Gp;
  using Mem = asmjit::x86::Mem;

  asmjit::BaseEmitter& emitter() override { return a_; }
  static Gp register_of(uint8_t number);
  static Gp sized(const Gp& full, uint32_t bytes);
  static Gp half_or_whole(const Gp& full, bool wide) { return wide ? full : full.r32(); }
  static Mem field(size_t offset, uint32_t bytes);
  static bool pads(const JitFrame& frame);
  static Mem memory(JitPlace place, uint32_t bytes);
  static Mem key_part(JitKey key, uint32_t at, uint32_t bytes);
  static Mem own_values(const Map& map);

  void move_number(const Gp& to, uint64_t value);
  void multiply(const Gp& to, uint64_t factor);  // below 2^31
  void move(bool wide, uint8_t to, JitOperand from);
  void shift(uint8_t operation, bool wide, uint8_t to, JitOperand from);
  void divide(uint8_t operation, bool wide, uint8_t to, JitOperand from);
  void divide_by(const Gp& divisor, bool wide, uint8_t to, bool remainder);
  void fetch_and_change(uint32_t bytes, int32_t operation, JitPlace place, uint8_t source);
  void slow_access(const Label& routine, const void* function);

  asmjit::x86::Assembler a_;
  Label slow_load_, slow_store_;
};

}  // namespace trama::ebpf
