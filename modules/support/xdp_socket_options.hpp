// What the source `af_xdp` wants of an interface, as plain data, and what it gets.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "modules/support/packet_device.hpp"

namespace trama {

struct XdpSocketOptions {
  enum class Copy { automatic, copy, zero_copy };  // automatic: zero-copy where the driver can

  std::vector<std::string> interfaces;
  Copy copy = Copy::automatic;
  uint64_t frames = 16384;  // of each queue; rounded up to a power of two
  bool promiscuous = true;
};

// An interface, with a socket for each of its receive queues. It receives once an XDP program redirects to them.
class XdpDevice : public PacketDevice {
 public:
  virtual int sockets() const noexcept = 0;     // an XSKMAP: the socket of each queue
  virtual bool zero_copy() const noexcept = 0;  // frames are received into memory that is shared with the driver
};

}  // namespace trama
