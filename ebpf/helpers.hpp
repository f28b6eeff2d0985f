// The functions of the kernel that programs may call here, by the kernel's numbers.
//
// A helper takes r1 to r5 and the execution, and returns r0. It checks every argument itself: what a program can't
// prove is a fault (Fault::bad_argument or bad_access in Execution::fault; look at it after the call). bpf_tail_call is
// special: it has no function, see tail_call().
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "ebpf/execution.hpp"

namespace trama::ebpf {

// What a helper copies costs a step for each so many bytes; keys of maps too, so that lookups of shorter ones cost
// none.
constexpr uint32_t kBytesOfAStep = 64;

// Called with the C convention of the platform.
using HelperFunction = uint64_t (*)(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution*);

enum class Argument : uint8_t {
  none,
  scalar,
  constant,  // known when the program is loaded
  any,       // a number or a pointer
  context,
  map,
  key,           // points to key_size bytes of the map in r1, initialized
  value,         // points to value_size bytes of the map in r1, initialized
  memory_read,   // points to as many bytes as the next argument says
  memory_write,  // the same; the helper writes them
  size,          // of the memory before it
  event,         // what bpf_ringbuf_reserve returned
};

enum class Returns : uint8_t { scalar, nothing, value_or_null, event_or_null };

struct HelperInfo {
  int32_t id;
  const char* name;  // as in bpf_helpers.h: "bpf_map_lookup_elem"
  HelperFunction function;
  std::array<Argument, 5> arguments;
  Returns returns = Returns::scalar;
  bool uses_time = false;
  bool uses_random = false;
  bool uses_cpu = false;
  bool changes_map = false;   // the one in r1
  bool emits_events = false;  // and traces
  bool moves_packet = false;  // pointers into the packet are void after it
  bool redirects = false;
};

// Null: there is no such helper here.
const HelperInfo* find_helper(int32_t id) noexcept;
std::span<const HelperInfo> all_helpers() noexcept;

// The kernel's name of a helper, also of those that are not here, for messages; null if we don't know it either.
const char* kernel_helper_name(int32_t id) noexcept;

// bpf_tail_call(context, r2, r3): index of the program to go on with, or -1 to fall through. Counts the call and a
// step; sets fault (and returns -1) when the steps are used up or r2 is no program array.
int64_t tail_call(Execution* execution, uint64_t map_tag, uint64_t index) noexcept;

// Who wants what programs put out: records of bpf_ringbuf_* and bpf_perf_event_output, and lines of bpf_trace_printk.
// Called while a packet is judged: must not wait, allocate or throw.
class EventSink {
 public:
  virtual ~EventSink() = default;
  // `packet`: the bytes of the packet that bpf_perf_event_output appends on request.
  virtual void event(uint32_t map, std::span<const uint8_t> record, std::span<const uint8_t> packet) noexcept = 0;
  virtual void trace(std::span<const char> line) noexcept = 0;
};

}  // namespace trama::ebpf
