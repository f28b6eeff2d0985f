#include "modules/support/packet_socket_group.hpp"

namespace trama {

Expected<PacketSockets> open_packet_sockets(const std::vector<NetworkInterface>& interfaces,
                                            const PacketSocketOptions& options, PacketFanout fanout, size_t replicas) {
  PacketSockets sockets(replicas);
  for (const NetworkInterface& interface : interfaces) {
    std::optional<uint16_t> group;
    for (std::vector<PacketSocket>& of_replica : sockets) {
      auto opened = PacketSocket::open(interface, options);
      if (!opened) return tl::unexpected(std::move(opened.error()));
      of_replica.push_back(std::move(*opened));
      if (replicas == 1) continue;
      const auto joined = of_replica.back().join(fanout, group);
      if (!joined) return failure(interface.name + ": " + joined.error().text, joined.error().hint);
      group = *joined;
    }
  }
  return sockets;
}

}  // namespace trama
