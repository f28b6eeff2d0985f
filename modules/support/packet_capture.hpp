// What the replicas of the stage af_packet share: the interfaces, their sockets, and what there is to report of them.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "modules/support/network_losses.hpp"
#include "modules/support/packet_quota.hpp"
#include "modules/support/packet_socket_group.hpp"
#include "modules/support/run_report.hpp"

namespace trama {

struct PacketCaptureOptions {
  std::vector<std::string> interfaces;
  PacketSocketOptions socket;
  PacketFanout fanout = PacketFanout::hash;
  uint64_t packets = 0;  // to be captured; 0: no limit
  size_t replicas = 1;
};

class PacketCapture {
 public:
  // Refused: interfaces that aren't there or can't be captured from. Warns of what makes their packets others than
  // those on the wire.
  static Expected<std::shared_ptr<PacketCapture>> open(const PacketCaptureOptions& options,
                                                       std::shared_ptr<RunReport> report);

  size_t inputs() const noexcept { return inputs_.size(); }
  PacketSocket& socket(size_t replica, size_t input) noexcept { return sockets_[replica][input]; }
  bool is_any(size_t input) const noexcept { return inputs_[input].facts.index == 0; }

  // --- while it runs; any replica.
  void begin();  // lets packets in, for all replicas; the first call does it
  PacketQuota& quota() noexcept { return quota_; }
  void captured(size_t input, uint64_t packets, uint64_t bytes) noexcept;
  uint64_t take_interface_losses() noexcept { return losses_.take(); }
  // Each is said once an interface.
  void is_down(size_t input);
  void is_gone(size_t input);
  void has_link_type(size_t input, uint16_t link_type);  // that isn't walked

  // Rules change in the order of the batches' numbers: a replica holds this while it takes both.
  std::mutex& handing_out() noexcept { return handing_out_; }

  // By each replica when it has read everything; true for the last one, which then takes what interfaces have lost
  // until now and calls report_end().
  bool replica_ended();
  void report_end();

 private:
  struct Input {
    explicit Input(NetworkInterface interface) : facts(std::move(interface)) {}
    const NetworkInterface facts;
    std::atomic<uint64_t> packets{0}, bytes{0};
    std::atomic<bool> gone{false}, said_down{false}, said_link{false};
  };

  PacketCapture(const PacketCaptureOptions& options, const std::vector<NetworkInterface>& interfaces,
                std::shared_ptr<RunReport> report);
  void tell(Severity severity, std::string text, std::string hint = "");
  void warn_of(const Input& input);

  std::deque<Input> inputs_;
  PacketSockets sockets_;
  NetworkLosses losses_;
  std::shared_ptr<RunReport> report_;
  PacketQuota quota_;
  std::atomic<size_t> running_;
  std::atomic<bool> begun_{false};
  std::mutex handing_out_;
};

}  // namespace trama
