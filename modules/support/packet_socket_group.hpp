// The sockets that the replicas of a source capture with: one for each replica and interface. The replicas share an
// interface's packets.
#pragma once
#include <vector>

#include "modules/support/packet_socket.hpp"

namespace trama {

using PacketSockets = std::vector<std::vector<PacketSocket>>;  // [replica][interface]

// All of them shut. The first error is the only one: what follows it would be the same.
Expected<PacketSockets> open_packet_sockets(const std::vector<NetworkInterface>& interfaces,
                                            const PacketSocketOptions& options, PacketFanout fanout, size_t replicas);

}  // namespace trama
