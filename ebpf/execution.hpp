// What one replica needs to run programs: a plain struct of standard layout. One thread at a time.
//
//   Execution execution;
//   maps.attach(execution, replica);          // once
//   maps.begin_batch(execution);              // for each batch
//   execution.show(packet);                   // for each packet
//   uint32_t verdict = interpreter.run(program, execution);
//   maps.end_batch(execution);
//
// Values in registers of programs: a pointer into packet, stack, map value or event is the host's address. A map and
// the context are never addresses but tags, which no canonical address has, so that nothing can be read through them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ebpf/lpm_root.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

class Map;
class Maps;
class EventSink;

constexpr uint64_t kContextTag = 0x10ull << 56;  // + offset in struct xdp_md
constexpr uint64_t kMapTag = 0x20ull << 56;      // + index in Object::maps

constexpr uint32_t kFrameBytes = 512;       // stack of one function
constexpr uint32_t kMaxFrames = 8;          // the kernel's MAX_CALL_FRAMES
constexpr uint32_t kMaxTailCalls = 33;      // the kernel's MAX_TAIL_CALL_CNT
constexpr int32_t kDefaultSteps = 1 << 20;  // instructions; see step_costs() in ebpf/verifier.hpp

// Room that a program which moves the start of a packet finds in front of it: XDP_PACKET_HEADROOM, of which the kernel
// keeps the first bytes for its struct xdp_frame.
constexpr uint32_t kHeadroomBytes = 256;
constexpr uint32_t kReservedHeadroomBytes = 40;

// Room for what bpf_ringbuf_reserve hands out while one packet is judged.
constexpr uint32_t kEventBytes = 16384;

// Why a program was stopped. Its verdict is then XDP_ABORTED.
enum class Fault : uint32_t {
  none,
  bad_access,       // a load or store outside packet, stack, map values and events, or a store to read-only memory
  bad_argument,     // a helper got something that isn't what it takes
  step_limit,       // too many instructions
  call_depth,       // more than kMaxFrames functions
  bad_instruction,  // the interpreter met what the verifier refuses
};

struct PacketView {
  uint8_t* data = nullptr;
  uint32_t bytes = 0;
  uint32_t headroom = 0;  // writable bytes in front of data; 0 or kHeadroomBytes
  uint32_t ingress_ifindex = 0;
  uint32_t rx_queue_index = 0;
  uint64_t time_ns = 0;  // what the clock helpers answer; 0: the machine's monotonic clock
};

struct Execution {
  // The packet. The context's fields: 32 bits in struct xdp_md, full pointers when a program loads the first three.
  uint64_t data = 0, data_end = 0, data_meta = 0;
  uint64_t lowest_data = 0;  // as far down as bpf_xdp_adjust_head and _meta may go
  uint32_t ingress_ifindex = 0, rx_queue_index = 0;
  uint64_t time_ns = 0;

  int32_t steps_left = 0;  // negative: Fault::step_limit
  Fault fault = Fault::none;
  uint32_t tail_calls = 0;
  uint32_t events_used = 0;        // bytes of events[]
  uint32_t fault_instruction = 0;  // where it faulted
  uint32_t fault_program = 0;
  uint64_t native_stack = 0;  // of machine code: where a fault goes back to

  uint32_t cpu = 0;  // the replica: which copy of per-CPU maps is its own
  uint32_t map_count = 0;
  Map* const* maps = nullptr;          // by index
  uint8_t* own_values[kMaxMaps] = {};  // by map: the first value of this replica's copy, or of the only one
  const void* tables[kMaxMaps] = {};   // LPM tables (LpmTable) in force for this batch, by map; null: an empty list
  LpmRoot roots[kMaxMaps] = {};        // of those; of an empty list one that holds nothing
  const LpmShortTail* tails[kMaxMaps] = {};
  uint64_t generation = 0;  // which those are

  // What may be stored to: whatever else a program was seen to do, nothing is changed that its replicas rely on. Bit i:
  // values of map i.
  uint64_t writable_maps = 0;
  bool packet_writable = false;
  bool clears_stack = false;  // all of it, before each packet: looks_anywhere_on_the_stack() (ebpf/verifier.hpp)

  int32_t step_limit = kDefaultSteps;
  uint32_t random_state = 1;  // xorshift32, never 0
  uint64_t redirect_target = 0;
  uint64_t traces = 0;        // bpf_trace_printk
  uint64_t events = 0;        // perf and ring-buffer records
  EventSink* sink = nullptr;  // who wants them besides; may be null
  Maps* owner = nullptr;

  alignas(64) uint8_t event_memory[kEventBytes] = {};
  alignas(64) uint8_t stack[kMaxFrames * kFrameBytes] = {};  // frame i is stack[i * kFrameBytes ...], r10 its end

  static constexpr uint8_t kNothing[1] = {0};

  // Before each packet.
  void show(const PacketView& packet) noexcept {
    show_next(packet.data, packet.bytes, packet.time_ns);
    if (packet.headroom > kReservedHeadroomBytes) lowest_data = data - packet.headroom + kReservedHeadroomBytes;
    ingress_ifindex = packet.ingress_ifindex;
    rx_queue_index = packet.rx_queue_index;
    if (clears_stack) clear_stack();
  }
  void clear_stack() noexcept { std::memset(stack, 0, sizeof stack); }
  // One that came where the last one came, without headroom, for a program that needs no clear stack.
  void show_next(const uint8_t* first, uint32_t bytes, uint64_t time) noexcept {
    // Machine code subtracts from the end, which must not wrap: nothing lies somewhere, too.
    data = data_meta = lowest_data = reinterpret_cast<uint64_t>(first != nullptr ? first : kNothing);
    data_end = data + bytes;
    time_ns = time;
    steps_left = step_limit;
    fault = Fault::none;
    tail_calls = 0;
    events_used = 0;
  }
};
static_assert(std::is_standard_layout_v<Execution>);

// Which memory an access may reach. What the verifier knows about the base register narrows it (`expected`): an access
// through a pointer into a map value never reaches the stack, even if it isn't proven.
enum class Region : uint32_t { any, packet, stack, value, event };

// The host's address of `bytes` bytes at `address`, or 0 when they are not all inside one packet (from data_meta on),
// one stack, one value of a map of this replica, or one event. Sets no fault.
uint64_t check_access(const Execution* execution, uint64_t address, uint64_t bytes, uint32_t writes,
                      Region expected) noexcept;

// The same for an atomic operation, which must also be aligned to its size (4 or 8).
uint64_t check_atomic(const Execution* execution, uint64_t address, uint64_t bytes, Region expected) noexcept;

// The value of a map of this replica that holds this address; empty if none does.
struct ValueRange {
  uint64_t first = 0, end = 0;
  bool writable = false;
};
ValueRange value_around(const Execution& execution, uint64_t address) noexcept;

const char* name_of(Fault fault) noexcept;

}  // namespace trama::ebpf
