#include "ebpf/execution.hpp"

#include "ebpf/event_memory.hpp"
#include "ebpf/map.hpp"
#include "ebpf/memory_range.hpp"

namespace trama::ebpf {

ValueRange value_around(const Execution& execution, uint64_t address) noexcept {
  for (uint32_t map = 0; map < execution.map_count; ++map) {
    const MapLayout& layout = execution.maps[map]->layout();
    const auto first = reinterpret_cast<uint64_t>(layout.own_copy(execution.cpu));
    const uint64_t offset = address - first;
    if (!layout.reachable || address < first || offset >= uint64_t{layout.stride} * layout.elements) continue;
    // One division of 32 bits where that is enough: it takes half the time.
    const uint64_t in_element = offset >> 32 ? offset % layout.stride : static_cast<uint32_t>(offset) % layout.stride;
    if (in_element >= layout.value_size) return {};
    const uint64_t element = address - in_element;
    return {element, element + layout.value_size, layout.writable && (execution.writable_maps >> map & 1) != 0};
  }
  return {};
}

namespace {

bool inside_some_value(const Execution& execution, uint64_t address, uint64_t bytes, bool writes) {
  const ValueRange value = value_around(execution, address);
  return inside(address, bytes, value.first, value.end) && (value.writable || !writes);
}

}  // namespace

uint64_t check_access(const Execution* execution, uint64_t address, uint64_t bytes, uint32_t writes,
                      Region expected) noexcept {
  const bool any = expected == Region::any;
  if ((any || expected == Region::packet) && inside(address, bytes, execution->data_meta, execution->data_end))
    return writes == 0 || execution->packet_writable ? address : 0;
  const auto stack = reinterpret_cast<uint64_t>(execution->stack);
  if ((any || expected == Region::stack) && inside(address, bytes, stack, stack + sizeof execution->stack))
    return address;
  if ((any || expected == Region::value) && inside_some_value(*execution, address, bytes, writes != 0)) return address;
  if ((any || expected == Region::event) && inside_open_event(*execution, address, bytes)) return address;
  return 0;
}

uint64_t check_atomic(const Execution* execution, uint64_t address, uint64_t bytes, Region expected) noexcept {
  return address % bytes == 0 ? check_access(execution, address, bytes, 1, expected) : 0;
}

const char* name_of(Fault fault) noexcept {
  switch (fault) {
    case Fault::none: return "none";
    case Fault::bad_access: return "bad access";
    case Fault::bad_argument: return "bad argument of a helper";
    case Fault::step_limit: return "step limit";
    case Fault::call_depth: return "call depth";
    case Fault::bad_instruction: return "bad instruction";
  }
  return "unknown";
}

}  // namespace trama::ebpf
