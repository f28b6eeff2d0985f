// What the replicas of a device source share: the open devices, what is still wanted of them, and the report at the
// end.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "modules/support/kernel_filters.hpp"
#include "modules/support/lent_batches.hpp"
#include "modules/support/packet_device.hpp"
#include "modules/support/packet_quota.hpp"
#include "modules/support/rules.hpp"
#include "modules/support/run_report.hpp"

namespace trama {

struct DeviceRunOptions {
  uint64_t packets = 0;  // stop after so many; 0: never
  uint32_t snap_bytes = UINT32_MAX;
  uint16_t link_type = 1;
  int64_t longest_sleep_ns = 5'000'000;  // of a source whose devices can't wake it
  size_t replicas = 1;
  // What brings packets from the kernel to the devices, one interface each; taken off when the run ends. Null: nothing.
  std::shared_ptr<KernelFilters> filters = nullptr;
};

class DeviceRun {
 public:
  DeviceRun(OpenedDevices opened, std::shared_ptr<RunReport> report, std::shared_ptr<RulesInForce> rules,
            DeviceRunOptions options);
  ~DeviceRun();

  const DeviceRunOptions& options() const { return options_; }
  // Queue q of every device belongs to replica q modulo replicas.
  std::vector<ReceiveQueue*> queues_of(size_t replica) const;

  // Data path; any thread.
  PacketQuota& quota() noexcept { return quota_; }
  void received(uint64_t packets, uint64_t bytes) noexcept { report_->progress(bytes, packets); }
  uint32_t judges() const noexcept { return options_.filters ? options_.filters->judges() : 0; }
  RulesShare rules() const noexcept { return rules_->current(); }
  // Rules change in the order of the batches' numbers: a replica holds this while it takes both.
  std::mutex& handing_out() noexcept { return handing_out_; }
  uint32_t rules_id() const noexcept { return rules_->id(); }
  // By one replica: what all devices have lost, and filters removed, since the last call.
  DeviceLosses take_losses() noexcept;
  // By one replica, now and then. A device that has ceased to receive is told of, once.
  void look_after_devices();
  bool all_gone() const noexcept { return gone_.load(std::memory_order_relaxed) == devices_.size(); }

  // At the end, by every replica: first when it begins to drain, then when it has, with what came from each of its
  // queues. True for the last one, which then takes the last losses and calls report_end().
  void begin_end();
  bool replica_ended(size_t replica, std::span<const ReceivedCount> received);
  DeviceLosses take_last_losses();
  void report_end();

 private:
  template <class Visit>
  void visit_queues(size_t replica, Visit&& visit) const;

  std::vector<std::unique_ptr<PacketDevice>> devices_;
  std::shared_ptr<RunReport> report_;
  std::shared_ptr<RulesInForce> rules_;
  const DeviceRunOptions options_;
  PacketQuota quota_;
  std::mutex handing_out_;

  std::atomic<size_t> gone_{0};
  std::mutex ending_;  // guards what follows
  bool admission_closed_ = false;
  std::vector<bool> is_gone_;
  size_t replicas_ended_ = 0;
  std::vector<ReceivedCount> received_;  // of each device
};

}  // namespace trama
