// Asks a device to drop what isn't IPv4 or IPv6 before it costs anything.
#pragma once
#include <cstdint>
#include <string>

#include "engine/diagnostic.hpp"

namespace trama {

// Sets rules (rte_flow) on a started port: frames with an IPv4 or IPv6 header behind at most two VLAN tags are spread
// over its `queues`, all others are dropped. Fails, and leaves the port without rules, when its driver takes one of
// them not.
Expected<void> keep_only_ip(uint16_t port, uint16_t queues);

}  // namespace trama
