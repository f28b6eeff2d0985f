// An AF_PACKET socket with a TPACKET_V3 receive ring (packet(7); Documentation/networking/packet_mmap.rst).
//
// It is opened shut: nothing is received, so that a group of sockets can be made before one of them sees a packet that
// another will get. admit() lets packets in, shut() ends that. What the kernel has under way by then is in the ring or
// among the drops when PacketsUnderWay has been waited for: from then on both numbers stand still.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "engine/diagnostic.hpp"
#include "modules/support/network_interface.hpp"
#include "modules/support/packet_socket_ring.hpp"

struct sock_filter;  // linux/filter.h

namespace trama {

enum class PacketDirection : uint8_t { both, in, out };

// How a group of sockets shares the packets of an interface (packet(7), PACKET_FANOUT).
enum class PacketFanout : uint8_t {
  hash,     // by flow
  balance,  // in turn
  cpu,      // by the processor that received it
  queue,    // by the interface's receive queue
};

struct PacketSocketOptions {
  uint64_t ring_bytes = 64 << 20;
  uint64_t block_timeout_ms = 8;  // a block that isn't full is handed over after so long
  uint64_t snap_bytes = 512;      // of each packet, from its link layer on
  bool promiscuous = true;
  PacketDirection direction = PacketDirection::both;
};

// Of the ring that is made for so many bytes.
struct PacketRingForm {
  uint32_t block_bytes, blocks;
};
PacketRingForm packet_ring_form(uint64_t ring_bytes);
inline constexpr uint64_t kLeastRingBytes = 256 << 10, kMostRingBytes = uint64_t{1} << 32;

class PacketSocket {
 public:
  // Refused: what the system refuses, with what mends it.
  static Expected<PacketSocket> open(const NetworkInterface& interface, const PacketSocketOptions& options);
  ~PacketSocket();
  PacketSocket(PacketSocket&& other) noexcept;
  PacketSocket& operator=(PacketSocket&&) = delete;

  // Shares the interface's packets with the other members; the first member is told no number, and gives the others'.
  Expected<uint16_t> join(PacketFanout fanout, std::optional<uint16_t> group);

  bool admit() noexcept;  // false: the system refused
  void shut() noexcept;

  int fd() const noexcept { return fd_; }
  PacketSocketRing& ring() noexcept { return *ring_; }

  // Since the last call: packets put into the ring, and packets for which it had no room.
  struct Counts {
    uint64_t received = 0, dropped = 0;
  };
  Counts take_counts() noexcept;

  // Asked when the descriptor reports an error, which it then doesn't report again: that the interface is down. That it
  // is gone it reports only where it was up until then.
  enum class State : uint8_t { sound, down, gone };
  State take_state() noexcept;

 private:
  PacketSocket(int fd, const PacketSocketOptions& options) : fd_(fd), options_(options) {}
  const char* set_up(const NetworkInterface& interface);
  const char* map_ring();
  bool attach(std::span<const sock_filter> program) noexcept;

  int fd_ = -1;
  PacketSocketOptions options_;
  uint8_t* memory_ = nullptr;
  size_t memory_bytes_ = 0;
  std::optional<PacketSocketRing> ring_;
};

// Packets that were let in before sockets were shut may still be on their way into the rings, on other processors.
class PacketsUnderWay {
 public:
  PacketsUnderWay();
  ~PacketsUnderWay() { wait(); }
  PacketsUnderWay(const PacketsUnderWay&) = delete;
  PacketsUnderWay& operator=(const PacketsUnderWay&) = delete;

  // Until all have come through; some ten milliseconds. Once, and without any privilege.
  void wait() noexcept;

 private:
  int fd_;  // a packet socket without use of its own
};

}  // namespace trama
