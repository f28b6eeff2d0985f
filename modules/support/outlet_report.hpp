// How a stage that publishes is doing: what became of its windows, and of those who wanted them.
#pragma once
#include <cstdint>
#include <string>

namespace trama {

// What doesn't apply to a kind of URL stays 0.
struct OutletCounts {
  uint64_t subscribers = 0;   // now
  uint64_t subscribed = 0;    // from the beginning, those who came back once more
  uint64_t sent = 0;          // windows, to all subscribers together
  uint64_t lost = 0;          // windows that slow subscribers lost, each of its own
  uint64_t not_replayed = 0;  // windows wanted that had left the queue, and that no archive of the run could give
  uint64_t waiting = 0;       // windows that wait for a NATS server to have them, now
  uint64_t stored = 0;        // windows that a NATS server has
  uint64_t not_stored = 0;    // windows of which it is not known that it has them
  uint64_t too_long = 0;      // windows that are longer than the stage may send, and that nobody gets
  uint64_t refused = 0;       // subscribers that were told why: too many, another stream or version
  uint64_t shut_out = 0;      // connections without a right key, each try of them
  bool operator==(const OutletCounts&) const = default;
};

struct OutletReport {
  std::string stage;
  std::string url;  // as it may be shown
  OutletCounts counts;
  uint64_t passed_by = 0;  // windows that came while all slots of the stage were taken; as the engine counts them
};

// By their published names, in the published order.
struct OutletCountName {
  const char* name;
  uint64_t OutletCounts::*count;
};
inline constexpr OutletCountName kOutletCountNames[] = {{"subscribers", &OutletCounts::subscribers},
                                                        {"subscribed", &OutletCounts::subscribed},
                                                        {"sent", &OutletCounts::sent},
                                                        {"lost", &OutletCounts::lost},
                                                        {"not_replayed", &OutletCounts::not_replayed},
                                                        {"waiting", &OutletCounts::waiting},
                                                        {"stored", &OutletCounts::stored},
                                                        {"not_stored", &OutletCounts::not_stored},
                                                        {"too_long", &OutletCounts::too_long},
                                                        {"refused", &OutletCounts::refused},
                                                        {"shut_out", &OutletCounts::shut_out}};

}  // namespace trama
