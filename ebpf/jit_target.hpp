// What a processor must offer so that programs can be compiled for it. Common code (jit_translator.hpp) decides what is
// to be done; a target says it in machine code.
//
// Registers r0 to r10 of programs are registers of the machine, and so is the Execution. Besides, a target has one more
// register for itself, "the address", which address_of() and checks set and accesses may use, and scratch registers,
// which keep nothing from one of these functions to the next. Conditions of the machine (flags) aren't kept either.
//
// The machine's stack: a function of a program finds it aligned as calls of C functions need it.
#pragma once
#include <asmjit/core.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "ebpf/execution.hpp"
#include "ebpf/map.hpp"

namespace trama::ebpf {

// The second operand of an instruction. Immediates are sign-extended to 64 bits.
struct JitOperand {
  bool is_register = false;
  uint8_t number = 0;
  int32_t immediate = 0;

  static JitOperand of_register(uint8_t number) { return {true, number, 0}; }
  static JitOperand of_immediate(int32_t immediate) { return {false, 0, immediate}; }
};

// Where a load or store goes: base register and offset, or the address that a check has found good.
struct JitPlace {
  bool checked = false;
  uint8_t base = 0;
  int32_t offset = 0;

  static JitPlace at_address() { return {true, 0, 0}; }
};

// How a C function, uint64_t (*)(Execution*), becomes a program.
struct JitFrame {
  uint32_t kept = 0;    // bit i: ri is changed, of r6 to r9, so that the function must keep what C functions keep in it
  bool called = false;  // the program is a function of its own, since tail calls may put others in its place
  bool context = true;  // r1 is read
  bool deep = false;    // it is called, or calls functions: the stack is deeper there than where the C function began
};

// Where the key of a lookup is: where r2 points to, or in the frame, at so many bytes from r10; then r2 isn't set.
struct JitKey {
  bool in_frame = false;
  int32_t offset = 0;
  std::optional<uint32_t> number = {};      // the first four bytes, where they are always the same
  std::optional<uint8_t> next_number = {};  // a register that holds the four bytes behind them
};

class JitTarget {
 public:
  using Label = asmjit::Label;

  // Null, and no name: there is no code for this processor.
  static std::unique_ptr<JitTarget> make(asmjit::CodeHolder& code);
  static const char* name() noexcept;
  virtual ~JitTarget() = default;

  Label label() { return emitter().newLabel(); }
  void bind(const Label& label) { emitter().bind(label); }
  void align(uint32_t bytes) { emitter().align(asmjit::AlignMode::kData, bytes); }
  void embed(const Label& label) { emitter().embedLabel(label); }

  // --- into programs and out of them
  virtual void enter(const JitFrame& frame) = 0;  // the C function begins: sets r10, and r1
  virtual void leave(const JitFrame& frame) = 0;  // and returns r0
  virtual void abort(const JitFrame& frame) = 0;  // or XDP_ABORTED, from anywhere in the program
  // Two routines that call checked_load() and checked_store() for slow_load() and slow_store().
  virtual void slow_accesses() = 0;

  // --- functions
  virtual void function_start() = 0;
  virtual void clear_frame() = 0;
  virtual void call_program(const Label& function) = 0;   // in the frame that there is
  virtual void call_function(const Label& function) = 0;  // r6 to r10 are afterwards what they were
  virtual void exit() = 0;
  virtual void jump_by_table(const Label& table) = 0;  // of addresses, by r0

  // --- what stops a program
  virtual void set_field(size_t offset, uint32_t value) = 0;  // of the Execution; 32 bits
  virtual void pay(uint32_t steps, const Label& out_of_steps) = 0;
  virtual void check_steps(const Label& out_of_steps) = 0;
  virtual void check_fault(const Label& faulted) = 0;
  virtual void check_depth(const Label& too_deep) = 0;  // jumps when r10 is that of the last frame

  // --- registers. Operations are BPF_ADD to BPF_ARSH, and BPF_NEG without a second operand.
  virtual void set(uint8_t to, uint64_t value) = 0;
  virtual void compute(uint8_t operation, bool wide, uint8_t to, JitOperand from) = 0;
  virtual void add(uint8_t to, uint8_t a, int32_t b) = 0;  // of 64 bits
  virtual void swap_bytes(uint8_t to, int32_t bits, bool to_big_endian) = 0;

  // --- jumps. Conditions are BPF_JEQ to BPF_JSLE.
  virtual void jump(const Label& label) = 0;
  virtual void jump_if(uint8_t condition, bool wide, uint8_t a, JitOperand b, const Label& label) = 0;

  // --- memory
  virtual void load_field(uint8_t to, size_t offset, uint32_t bytes) = 0;  // of the Execution; 4 or 8 bytes
  virtual void load(uint32_t bytes, uint8_t to, JitPlace from) = 0;
  virtual void store(uint32_t bytes, JitPlace to, JitOperand from) = 0;
  virtual void atomic(uint32_t bytes, int32_t operation, JitPlace place, uint8_t source) = 0;
  virtual void address_of(JitPlace place) = 0;
  virtual void check_packet(uint32_t bytes, const Label& elsewhere) = 0;  // of the address
  // The address is then what checked_load() and checked_store() returned. Registers of programs are kept.
  virtual void slow_load(uint64_t check) = 0;
  virtual void slow_store(uint64_t check) = 0;
  virtual void take_loaded(uint8_t to) = 0;  // what slow_load() has found

  // --- calls of C functions: r1 to r5 are lost
  virtual void call_helper(const void* function) = 0;  // a HelperFunction
  virtual void call_lookup(LookupFunction function, const Map* map) = 0;
  // --- the same without a call. Where there is no such entry they go to `null`, with 0 in r0.
  virtual void lookup_array(const Map& map, JitKey key, const asmjit::Label& null) = 0;
  virtual void array_value(const Map& map, uint32_t index) = 0;  // of an entry that is there
  // An LPM trie with keys of two bytes or more, besides their length.
  struct PrefixLookup {
    const Map* map;
    JitKey key;
    asmjit::Label null, decided;
    asmjit::Label below;   // for lookup_below(): two bytes of the key don't decide, or it hasn't all its bits
    asmjit::Label slowly;  // with the key where it was
  };
  virtual bool lookup_prefix(const PrefixLookup& lookup) = 0;  // false: there is no such code for this processor
  virtual void lookup_below(const PrefixLookup& lookup) = 0;   // goes on at `decided`, or `slowly`

 private:
  virtual asmjit::BaseEmitter& emitter() = 0;
};

}  // namespace trama::ebpf
