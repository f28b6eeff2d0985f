// Ring buffers and perf event arrays: programs put records in, nothing can be looked up. The helpers count the records
// and hand them on (EventSink).
#include "ebpf/map_types.hpp"

namespace trama::ebpf {
namespace {

class EventMap : public Map {
 public:
  EventMap(const MapSpec& spec, uint32_t index) : Map(spec, index) {
    layout_.type = spec.type;
    layout_.max_entries = spec.max_entries;
  }
  void for_each(const std::function<void(const MapEntry&)>&) const override {}
};

}  // namespace

MadeMap make_event_map(const MapSpec& spec, uint32_t index) { return std::make_unique<EventMap>(spec, index); }

}  // namespace trama::ebpf
