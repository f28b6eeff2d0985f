// The records that bpf_ringbuf_reserve hands out: they lie one behind the other in Execution::event_memory, each behind
// a header that programs can't reach, and are forgotten with the packet.
#pragma once
#include <cstdint>

#include "ebpf/execution.hpp"

namespace trama::ebpf {

struct EventHeader {
  uint32_t map = 0;
  uint32_t bytes = 0;  // of the record behind it
  uint32_t open = 0;   // neither submitted nor discarded
  uint32_t unused = 0;
};

// The record's first byte, zeroed; null: no room, as when a ring is full.
uint8_t* reserve_event(Execution& execution, uint32_t map, uint64_t bytes) noexcept;

// The header of the open record that begins here; null: none does.
EventHeader* open_event(Execution& execution, uint64_t address) noexcept;

bool inside_open_event(const Execution& execution, uint64_t address, uint64_t bytes) noexcept;

}  // namespace trama::ebpf
