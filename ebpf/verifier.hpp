// Verifier-lite: what is known of a program before it runs.
//
// One forward dataflow says what each register holds in front of each instruction. It refuses what no engine here runs
// (below), and proves as many loads and stores as it can; the others are checked at run time. So it never has to be
// complete, unlike the kernel's, which follows every path.
//
// Refused, with instruction, source line and reason: unknown instructions, helpers, map types for a helper; jumps
// outside the program or into the second half of a wide load; code that runs off its end; reads of registers that may
// not have been written; arithmetic on the context or on a map; stores to the context and loads from it that the kernel
// doesn't allow; stack accesses outside the function's 512 bytes; stores to read-only maps; recursion, more than 8
// frames, more than 512 bytes of stack along a chain of calls (256 where a subprogram makes a tail call).
//
// Bytes of the stack that may not have been written read as zero: FunctionFacts::zero_stack says where a function must
// clear its frame at entry because it has, or may have, such a read.
//
// Unlike the kernel's it doesn't see that two branches belong together ("if (c) x = 1; ... if (c) use(x)").
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ebpf/error.hpp"
#include "ebpf/execution.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

// What a register points to.
enum class Base : uint8_t {
  unset,    // never written on some path
  unknown,  // a number or a pointer: any access through it is checked against everything
  scalar,
  context,
  packet,
  packet_or_null,
  packet_end,
  packet_meta,
  stack,        // of this function
  outer_stack,  // of a function that called this one
  value,        // of a known map
  value_or_null,
  event,  // from bpf_ringbuf_reserve
  event_or_null,
  map,
};

struct InstructionFacts {
  bool reached = false;         // no code is needed for others. The second half of a wide load is never reached
  bool jump_target = false;     // by a jump, not by falling through
  bool function_entry = false;  // instruction 0 and targets of calls

  // Loads, stores and atomics: the base register, and whether the access is inside it and needs no check. An access
  // that isn't proven must be checked by check_access(), an atomic one by check_atomic(), with region_of(base) before
  // it touches memory. A proven atomic is aligned.
  bool proven = false;
  Base base = Base::unset;
  int16_t context_field = -1;  // loads from the context: offset in struct xdp_md, one of 0, 4, 8, 12, 16

  // The map of a value access, or of r1 (r2 for a tail call) of a helper call; -1: none, or not known.
  int32_t map = -1;
  bool key_proven = false;    // helper calls: the key (r2) is key_size readable bytes
  int64_t key_number = -1;    // helper calls: the key's first four bytes, where they are the same each time; else -1
  bool value_proven = false;  // helper calls: the value (r3) is value_size readable bytes
};

struct FunctionFacts {
  uint32_t entry = 0;        // instruction
  uint32_t end = 0;          // one past its last: the next entry, or the program's end
  uint32_t stack_bytes = 0;  // used below r10
  bool zero_stack = false;   // clear the frame at entry, be it by a call or by a tail call
};

// What running the program means for others. Of a whole object: the union over its programs, since tail calls reach
// any.
struct Properties {
  bool writes_packet = false;  // or may; needs a copy of the packet
  bool moves_packet = false;   // adjust_head, adjust_meta: needs a copy with headroom
  bool redirects = false;      // bpf_redirect, bpf_redirect_map
  bool tail_calls = false;
  bool emits_events = false;
  // Reasons why results depend on when and where a packet is judged. Counting into an array per CPU, or into a shared
  // one with an atomic addition whose result nobody reads, is none.
  bool uses_time = false;
  bool uses_random = false;
  bool uses_cpu = false;
  bool changes_keys = false;     // of a hash map, through a helper
  std::vector<int32_t> helpers;  // numbers, ascending

  // Bit i: map i. Shared maps whose values are written in any way but by adding, those that are added to atomically,
  // and those that are read; maps per CPU that are written, and those whose content decides something other than what
  // is written back to them.
  uint64_t written_maps = 0, counting_maps = 0, read_maps = 0;
  uint64_t own_written_maps = 0, deciding_maps = 0;

  bool shared_writes() const noexcept { return changes_keys || written_maps != 0 || (counting_maps & read_maps) != 0; }
  bool reads_own_counters() const noexcept { return (own_written_maps & deciding_maps) != 0; }
  bool serial() const noexcept {
    return uses_time || uses_random || uses_cpu || emits_events || shared_writes() || reads_own_counters();
  }
  std::string why_serial() const;  // "uses the clock, writes shared maps"; empty if it isn't
  void add(const Properties& other);
};

struct Facts {
  std::vector<InstructionFacts> instructions;  // as many as in Program::code
  std::vector<FunctionFacts> functions;        // ascending; [0] is the program itself
  std::vector<uint32_t> step_costs;            // see below
  Properties properties;
  uint32_t accesses = 0, unproven = 0;  // loads and stores reached, and those of them to be checked
};

Expected<Facts> analyze(const Object& object, uint32_t program);

struct Analysis {
  std::vector<Facts> programs;  // as Object::programs
  Properties properties;        // of all of them
};
Expected<Analysis> analyze(const Object& object);

// An access that isn't proven may go anywhere on the stack, also where no function of this packet has been: what
// earlier packets left there must be gone.
bool looks_anywhere_on_the_stack(const Object& object, const Analysis& analysis);

// What executing an instruction takes from Execution::steps_left: 0 for most; for a jump backward (taken or not) the
// instructions it goes back over, for a call the length of the function called. The program is stopped in front of the
// instruction that makes steps_left negative. A tail call costs 1 (tail_call() takes it). So `step_limit` bounds the
// instructions that a packet can cost. 0 for calls that lead nowhere, which the verifier refuses.
std::vector<uint32_t> step_costs(const std::vector<bpf_insn>& code);

// Where an access through this base may end up: for check_access().
Region region_of(Base base) noexcept;
const char* name_of(Base base) noexcept;

}  // namespace trama::ebpf
