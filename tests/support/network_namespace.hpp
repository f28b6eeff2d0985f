// A network of the test's own: a namespace without a name, which is gone when this object and the processes in it are,
// however they end; in it, pairs of interfaces joined by a cable (veth), and raw sockets to send and receive frames.
//
//   NetworkNamespace network;
//   if (!network.why_not().empty()) GTEST_SKIP() << network.why_not();
//   network.add_pair("tap0", "wire0");
//   const NetworkNamespace::Inside inside(network);   // from here on this thread, and what it starts, sees tap0
//   FrameSocket wire("wire0");
//   wire.send(frame);
//
// IPv6 is off and interfaces have no addresses, so that no frames come but those of the test.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trama::test {

class NetworkNamespace {
 public:
  NetworkNamespace();
  ~NetworkNamespace();
  NetworkNamespace(const NetworkNamespace&) = delete;
  NetworkNamespace& operator=(const NetworkNamespace&) = delete;

  // Why there can be none here; empty: it is there.
  const std::string& why_not() const { return why_not_; }

  // This thread, and what it starts, is in the namespace while one of these lives.
  class Inside {
   public:
    explicit Inside(const NetworkNamespace& network);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    int outside_ = -1;
  };

  // A shell command, run inside: what it printed. A failure is one of the test.
  std::string run(const std::string& command) const;

  // Two interfaces that are up and see each other's frames. `more`: further words for both ends, as `numrxqueues 2`.
  void add_pair(const std::string& first, const std::string& second, uint32_t mtu = 1500,
                const std::string& more = "") const;

 private:
  int descriptor_ = -1;
  std::string why_not_;
};

// Sends and receives whole Ethernet frames on an interface of this thread's namespace. What the interface itself sends
// isn't received. An outermost tag 0x8100 or 0x88a8 is not part of received bytes: the kernel takes it off.
class FrameSocket {
 public:
  explicit FrameSocket(const std::string& interface);
  ~FrameSocket();
  FrameSocket(const FrameSocket&) = delete;
  FrameSocket& operator=(const FrameSocket&) = delete;

  void send(std::span<const uint8_t> frame);
  bool try_send(std::span<const uint8_t> frame);  // false: there was no room, or the interface is gone
  // Waits until there is one, so long at most.
  std::optional<std::vector<uint8_t>> receive(std::chrono::milliseconds limit);

 private:
  int descriptor_ = -1;
};

}  // namespace trama::test
