#include "ebpf/event_memory.hpp"

#include <cstring>

#include "ebpf/memory_range.hpp"

namespace trama::ebpf {
namespace {

constexpr uint64_t round_up(uint64_t bytes) { return (bytes + 15) & ~uint64_t{15}; }

constexpr uint64_t kNowhere = sizeof Execution::event_memory;

// Where the header of the record that holds this address lies, by walking all of them: a program reserves a few.
uint64_t place_of_header(const Execution& execution, uint64_t address) {
  const auto first = reinterpret_cast<uint64_t>(execution.event_memory);
  if (!inside(address, 0, first, first + execution.events_used)) return kNowhere;
  for (uint64_t at = 0; at < execution.events_used;) {
    const auto* header = reinterpret_cast<const EventHeader*>(execution.event_memory + at);
    const uint64_t next = at + sizeof(EventHeader) + round_up(header->bytes);
    if (address < first + next) return at;
    at = next;
  }
  return kNowhere;
}

}  // namespace

uint8_t* reserve_event(Execution& execution, uint32_t map, uint64_t bytes) noexcept {
  const uint64_t room = sizeof execution.event_memory - execution.events_used;
  if (bytes > room || sizeof(EventHeader) + round_up(bytes) > room) return nullptr;
  uint8_t* const place = execution.event_memory + execution.events_used;
  const EventHeader header{map, static_cast<uint32_t>(bytes), 1, 0};
  std::memcpy(place, &header, sizeof header);
  uint8_t* const record = place + sizeof header;
  std::memset(record, 0, bytes);
  execution.events_used += static_cast<uint32_t>(sizeof header + round_up(bytes));
  return record;
}

EventHeader* open_event(Execution& execution, uint64_t address) noexcept {
  const uint64_t place = place_of_header(execution, address);
  if (place == kNowhere) return nullptr;
  auto* const header = reinterpret_cast<EventHeader*>(execution.event_memory + place);
  return header->open != 0 && address == reinterpret_cast<uint64_t>(header + 1) ? header : nullptr;
}

bool inside_open_event(const Execution& execution, uint64_t address, uint64_t bytes) noexcept {
  const uint64_t place = place_of_header(execution, address);
  if (place == kNowhere) return false;
  const auto* const header = reinterpret_cast<const EventHeader*>(execution.event_memory + place);
  const auto first = reinterpret_cast<uint64_t>(header + 1);
  return header->open != 0 && inside(address, bytes, first, first + header->bytes);
}

}  // namespace trama::ebpf
