#include "ebpf/helper_functions.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ebpf/event_memory.hpp"
#include "ebpf/helpers.hpp"
#include "ebpf/map.hpp"
#include "ebpf/trace_text.hpp"

namespace trama::ebpf {
namespace {

uint64_t error(int number) { return static_cast<uint64_t>(int64_t{-number}); }

uint64_t stop(Execution* execution, Fault fault) {
  execution->fault = fault;
  return 0;
}

const uint8_t* bytes_at(uint64_t address) { return reinterpret_cast<const uint8_t*>(address); }

// Null, and a fault: no map, or one that hasn't the type a helper needs.
Map* map_of(Execution* execution, uint64_t tagged) {
  const uint64_t index = tagged ^ kMapTag;
  if (index < execution->map_count) return execution->maps[index];
  stop(execution, Fault::bad_argument);
  return nullptr;
}

Map* map_of_type(Execution* execution, uint64_t tagged, uint32_t type) {
  Map* const map = map_of(execution, tagged);
  if (!map || map->layout().type == type) return map;
  stop(execution, Fault::bad_argument);
  return nullptr;
}

// What a helper copies costs steps like the instructions that would do it.
void charge(Execution* execution, uint64_t bytes) {
  const auto most = static_cast<uint64_t>(kDefaultSteps);
  execution->steps_left -= static_cast<int32_t>(std::min(bytes / kBytesOfAStep, most));
}

bool readable(Execution* execution, uint64_t address, uint64_t bytes) {
  charge(execution, bytes);
  if (bytes == 0 || check_access(execution, address, bytes, 0, Region::any) != 0) return true;
  stop(execution, Fault::bad_access);
  return false;
}

bool is_context(Execution* execution, uint64_t context) {
  if (context == kContextTag) return true;
  stop(execution, Fault::bad_argument);
  return false;
}

}  // namespace

namespace helper {

// --- maps

uint64_t map_lookup_elem(uint64_t tagged, uint64_t key, uint64_t, uint64_t, uint64_t, Execution* execution) {
  const Map* const map = map_of(execution, tagged);
  if (!map) return 0;
  if (!map->lookup_function()) return stop(execution, Fault::bad_argument);
  if (!readable(execution, key, map->layout().key_size)) return 0;
  return reinterpret_cast<uint64_t>(map->lookup(bytes_at(key), execution));
}

uint64_t map_update_elem(uint64_t tagged, uint64_t key, uint64_t value, uint64_t flags, uint64_t,
                         Execution* execution) {
  Map* const map = map_of(execution, tagged);
  if (!map) return 0;
  if (!map->lookup_function()) return stop(execution, Fault::bad_argument);
  const MapLayout& layout = map->layout();
  if (!readable(execution, key, layout.key_size) || !readable(execution, value, layout.value_size)) return 0;
  if (!layout.writable) return stop(execution, Fault::bad_access);
  return static_cast<uint64_t>(int64_t{map->update(bytes_at(key), bytes_at(value), flags, execution)});
}

uint64_t map_delete_elem(uint64_t tagged, uint64_t key, uint64_t, uint64_t, uint64_t, Execution* execution) {
  Map* const map = map_of(execution, tagged);
  if (!map) return 0;
  if (!map->lookup_function()) return stop(execution, Fault::bad_argument);
  if (!readable(execution, key, map->layout().key_size)) return 0;
  if (!map->layout().writable) return stop(execution, Fault::bad_access);
  return static_cast<uint64_t>(int64_t{map->erase(bytes_at(key), execution)});
}

// --- clock, chance, place

uint64_t ktime_get_ns(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, Execution* execution) {
  if (execution->time_ns != 0) return execution->time_ns;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t get_prandom_u32(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, Execution* execution) {
  uint32_t x = execution->random_state;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return execution->random_state = x;
}

uint64_t get_smp_processor_id(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, Execution* execution) {
  return execution->cpu;
}

// --- the packet; the rules are those of net/core/filter.c

constexpr uint64_t kEthernetHeaderBytes = 14;
constexpr uint64_t kMaxMetaBytes = 255;
constexpr uint64_t kMaxLoadBytes = 0xffff;

static int64_t signed_32(uint64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }

uint64_t xdp_adjust_head(uint64_t context, uint64_t delta, uint64_t, uint64_t, uint64_t, Execution* execution) {
  if (!is_context(execution, context)) return 0;
  const uint64_t meta = execution->data - execution->data_meta;
  const uint64_t data = execution->data + static_cast<uint64_t>(signed_32(delta));
  const bool before_room = data < execution->lowest_data + meta || data > execution->data_end;
  if (before_room || execution->data_end - data < kEthernetHeaderBytes) return error(EINVAL);
  if (meta != 0)
    std::memmove(reinterpret_cast<void*>(data - meta), reinterpret_cast<const void*>(execution->data_meta), meta);
  execution->data_meta = data - meta;
  execution->data = data;
  return 0;
}

uint64_t xdp_adjust_meta(uint64_t context, uint64_t delta, uint64_t, uint64_t, uint64_t, Execution* execution) {
  if (!is_context(execution, context)) return 0;
  const uint64_t meta = execution->data_meta + static_cast<uint64_t>(signed_32(delta));
  if (meta < execution->lowest_data || meta > execution->data) return error(EINVAL);
  const uint64_t bytes = execution->data - meta;
  if (bytes % 4 != 0 || bytes > kMaxMetaBytes) return error(EACCES);
  execution->data_meta = meta;
  return 0;
}

uint64_t xdp_get_buff_len(uint64_t context, uint64_t, uint64_t, uint64_t, uint64_t, Execution* execution) {
  if (!is_context(execution, context)) return 0;
  return execution->data_end - execution->data;
}

uint64_t xdp_load_bytes(uint64_t context, uint64_t offset_64, uint64_t to, uint64_t bytes_64, uint64_t,
                        Execution* execution) {
  if (!is_context(execution, context)) return 0;
  const uint64_t offset = static_cast<uint32_t>(offset_64), bytes = static_cast<uint32_t>(bytes_64);
  if (bytes != 0 && check_access(execution, to, bytes, 1, Region::any) == 0) return stop(execution, Fault::bad_access);
  if (offset > kMaxLoadBytes || bytes > kMaxLoadBytes) return error(EFAULT);
  charge(execution, bytes);
  if (offset + bytes > execution->data_end - execution->data) return error(EINVAL);
  std::memmove(reinterpret_cast<void*>(to), bytes_at(execution->data + offset), bytes);
  return 0;
}

// --- where packets go: only noted, the caller says what becomes of XDP_REDIRECT

uint64_t redirect(uint64_t ifindex, uint64_t flags, uint64_t, uint64_t, uint64_t, Execution* execution) {
  if (flags != 0) return XDP_ABORTED;
  execution->redirect_target = static_cast<uint32_t>(ifindex);
  return XDP_REDIRECT;
}

uint64_t redirect_map(uint64_t tagged, uint64_t key, uint64_t flags, uint64_t, uint64_t, Execution* execution) {
  constexpr uint64_t kActionMask = XDP_ABORTED | XDP_DROP | XDP_PASS | XDP_TX;
  const Map* const map = map_of_type(execution, tagged, BPF_MAP_TYPE_XSKMAP);
  if (!map) return 0;
  if ((flags & ~kActionMask) != 0) return XDP_ABORTED;
  if (slot_value(*map, static_cast<uint32_t>(key)) < 0) return flags & kActionMask;
  execution->redirect_target = static_cast<uint32_t>(key);
  return XDP_REDIRECT;
}

// --- what programs put out

uint64_t trace_printk(uint64_t format, uint64_t size, uint64_t a, uint64_t b, uint64_t c, Execution* execution) {
  const uint64_t bytes = static_cast<uint32_t>(size);
  if (!readable(execution, format, bytes)) return 0;
  ++execution->traces;
  std::array<char, kMaxTraceBytes> line;
  const size_t length =
      trace_text(line, {reinterpret_cast<const char*>(format), static_cast<size_t>(bytes)}, {a, b, c});
  if (execution->sink) execution->sink->trace({line.data(), length});
  return length;
}

static void put_out(Execution* execution, uint32_t map, std::span<const uint8_t> record,
                    std::span<const uint8_t> packet) {
  ++execution->events;
  if (execution->sink) execution->sink->event(map, record, packet);
}

uint64_t perf_event_output(uint64_t context, uint64_t tagged, uint64_t flags, uint64_t data, uint64_t size,
                           Execution* execution) {
  const Map* const map = map_of_type(execution, tagged, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  if (!map || !is_context(execution, context) || !readable(execution, data, size)) return 0;
  if ((flags & ~(BPF_F_CTXLEN_MASK | BPF_F_INDEX_MASK)) != 0) return error(EINVAL);
  const uint64_t packet_bytes = (flags & BPF_F_CTXLEN_MASK) >> 32;
  if (packet_bytes > execution->data_end - execution->data) return error(EFAULT);
  put_out(execution, map->index(), {bytes_at(data), size}, {bytes_at(execution->data), packet_bytes});
  return 0;
}

uint64_t ringbuf_output(uint64_t tagged, uint64_t data, uint64_t size, uint64_t flags, uint64_t, Execution* execution) {
  constexpr uint64_t kWakeups = BPF_RB_NO_WAKEUP | BPF_RB_FORCE_WAKEUP;
  const Map* const map = map_of_type(execution, tagged, BPF_MAP_TYPE_RINGBUF);
  if (!map || !readable(execution, data, size)) return 0;
  if ((flags & ~kWakeups) != 0) return error(EINVAL);
  put_out(execution, map->index(), {bytes_at(data), size}, {});
  return 0;
}

uint64_t ringbuf_reserve(uint64_t tagged, uint64_t size, uint64_t flags, uint64_t, uint64_t, Execution* execution) {
  const Map* const map = map_of_type(execution, tagged, BPF_MAP_TYPE_RINGBUF);
  if (!map || flags != 0) return 0;
  return reinterpret_cast<uint64_t>(reserve_event(*execution, map->index(), size));
}

static uint64_t close_event(uint64_t record, Execution* execution, bool submit) {
  EventHeader* const header = open_event(*execution, record);
  if (!header) return stop(execution, Fault::bad_argument);
  header->open = 0;
  if (submit) put_out(execution, header->map, {bytes_at(record), header->bytes}, {});
  return 0;
}

uint64_t ringbuf_submit(uint64_t record, uint64_t, uint64_t, uint64_t, uint64_t, Execution* execution) {
  return close_event(record, execution, true);
}

uint64_t ringbuf_discard(uint64_t record, uint64_t, uint64_t, uint64_t, uint64_t, Execution* execution) {
  return close_event(record, execution, false);
}

// A ring that somebody reads as fast as it is filled.
uint64_t ringbuf_query(uint64_t tagged, uint64_t what, uint64_t, uint64_t, uint64_t, Execution* execution) {
  const Map* const map = map_of_type(execution, tagged, BPF_MAP_TYPE_RINGBUF);
  return map && what == BPF_RB_RING_SIZE ? map->layout().max_entries : 0;
}

}  // namespace helper

int64_t tail_call(Execution* execution, uint64_t map_tag, uint64_t index) noexcept {
  const Map* const map = map_of_type(execution, map_tag, BPF_MAP_TYPE_PROG_ARRAY);
  if (!map) return -1;
  if (--execution->steps_left < 0) {
    stop(execution, Fault::step_limit);
    return -1;
  }
  const int64_t program = slot_value(*map, static_cast<uint32_t>(index));
  if (program < 0 || execution->tail_calls >= kMaxTailCalls) return -1;
  ++execution->tail_calls;
  return program;
}

}  // namespace trama::ebpf
