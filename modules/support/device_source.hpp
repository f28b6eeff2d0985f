// The source that stands on devices with queues: what dpdk and af_xdp have in common. Batch is PacketBatch.
//
// Frames are handed out where they lie and go back when their batch is let go. A batch goes on as soon as no more
// frames wait, full or not. Batches without packets carry what else must be known further on: losses, other rules, and
// that time passes. When the run ends, what waits in the devices by then is still handed out, and the last losses are
// read when all of it has been.
#pragma once
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "engine/stage.hpp"
#include "modules/support/device_run.hpp"
#include "modules/support/idle_wait.hpp"
#include "modules/support/lent_batches.hpp"

namespace trama {

template <class Batch>
class DeviceSource final : public Stage<void, Batch> {
 public:
  DeviceSource(std::shared_ptr<DeviceRun> run, const ReplicaContext& context)
      : run_(std::move(run)),
        replica_(context.replica),
        queues_(run_->queues_of(replica_)),
        lent_(queues_, {.batch_items = context.sizes.batch_items,
                        .link_type = run_->options().link_type,
                        .snap_bytes = run_->options().snap_bytes}),
        has_descriptors_(!wait_fds().empty()),
        wait_(wait_fds(), sleeps(context.sizes.batch_items)) {}

  Step produce(Output<Batch>& out) override {
    lent_.reclaim();
    if (!batch_ && !(batch_ = out.begin())) return Step::blocked;
    const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (const size_t received = receive(now_ns, out)) {
      wait_.busy(received);
      return Step::done;
    }
    if (run_->quota().used_up() || lent_.ended() || run_->all_gone()) return Step::end;
    if (tick_is_due(now_ns)) {
      push({}, now_ns, out);
      return Step::done;
    }
    if (has_descriptors_) {
      // What came before they were armed would wake nobody.
      for (ReceiveQueue* queue : queues_) queue->arm();
      if (receive(now_ns, out)) return Step::done;
    }
    wait_.sleep(now_ns);
    return Step::idle;
  }

  // Devices may go on receiving meanwhile: no more is taken than could wait in them when the run ended.
  Step drain(Output<Batch>& out) override {
    if (!ending_) {
      run_->begin_end();
      ending_ = true;
      still_waiting_ = lent_.depth();
    }
    while (still_waiting_ > 0 && !run_->quota().used_up()) {
      lent_.reclaim();
      if (!batch_ && !(batch_ = out.begin())) return Step::blocked;
      const size_t received = receive(clock_ns(CLOCK_MONOTONIC), out);
      if (received == 0 && (has_no_room_ || (lent_.starved() && lent_.batches_out() > 0))) return Step::blocked;
      still_waiting_ = received == 0 ? 0 : still_waiting_ - std::min(still_waiting_, received);
    }
    if (!counted_ && run_->replica_ended(replica_, lent_.received())) {
      unsaid_ += run_->take_last_losses();
      run_->report_end();
    }
    counted_ = true;
    if (unsaid_ == DeviceLosses{}) return Step::done;
    if (!batch_ && !(batch_ = out.begin())) return Step::blocked;
    push({}, clock_ns(CLOCK_MONOTONIC), out);
    return Step::done;
  }

  int wait_fd() const override { return wait_.fd(); }

 private:
  static constexpr int64_t kTickNs = 100'000'000;      // time passes for windows, too, when nothing comes
  static constexpr int64_t kLossesNs = 1'000'000'000;  // a driver may ask its hardware for them

  static int64_t clock_ns(clockid_t clock) noexcept {
    timespec now;
    clock_gettime(clock, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
  std::vector<int> wait_fds() const {
    std::vector<int> fds;
    for (const ReceiveQueue* queue : queues_)
      if (const int fd = queue->wait_fd(); fd >= 0) fds.push_back(fd);
    return fds;
  }
  // A queue without a descriptor has to be asked, and has room for what comes meanwhile at 800,000 packets a second. If
  // there is none, there are only ticks to wake up for. A full batch always ends a silence.
  IdleWait::Options sleeps(size_t batch_items) const {
    bool asks = false;
    constexpr int64_t kNsForEach = 1250;
    size_t room = kTickNs / kNsForEach;
    for (const ReceiveQueue* queue : queues_) {
      if (queue->wait_fd() >= 0) continue;
      asks = true;
      if (const size_t depth = queue->depth(); depth > 0) room = std::min(room, depth);  // 0: nothing comes by itself
    }
    if (!asks) return {.shortest_ns = kTickNs, .longest_ns = kTickNs};
    return {.longest_ns = std::min(run_->options().longest_sleep_ns, static_cast<int64_t>(room) * kNsForEach),
            .few = std::min(room / 64, batch_items - 1)};
  }

  // Returns how many packets it has pushed.
  size_t receive(int64_t now_ns, Output<Batch>& out) {
    const uint64_t wanted = run_->quota().reserve(batch_->packets.size());
    has_no_room_ = wanted == 0;
    if (has_no_room_) return 0;
    const auto filled = lent_.fill(std::span(batch_->packets).first(wanted), clock_ns(CLOCK_REALTIME));
    run_->quota().settle(wanted, filled.packets);
    if (filled.packets == 0) return 0;
    run_->received(filled.packets, filled.bytes);
    push(filled, now_ns, out);
    return filled.packets;
  }

  bool tick_is_due(int64_t now_ns) {
    look_for_losses(now_ns);
    return unsaid_ != DeviceLosses{} || now_ns - pushed_ns_ >= kTickNs || run_->rules_id() != rules_id_;
  }
  void look_for_losses(int64_t now_ns) {
    if (replica_ != 0 || counted_ || now_ns - losses_read_ns_ < kLossesNs) return;
    losses_read_ns_ = now_ns;
    unsaid_ += run_->take_losses();
    run_->look_after_devices();
  }

  void push(const LentBatches::Filled& filled, int64_t now_ns, Output<Batch>& out) {
    look_for_losses(now_ns);
    const DeviceLosses losses = std::exchange(unsaid_, {});
    batch_->count = filled.packets;
    batch_->items = static_cast<uint32_t>(filled.packets);
    batch_->lease = filled.lease;
    batch_->tally = {};
    batch_->tally.dropped_kernel = losses.kernel;
    batch_->tally.dropped_nic = losses.nic;
    batch_->tally.dropped_ring = losses.ring;
    batch_->tally.removed_in_kernel = losses.removed_in_kernel;
    batch_->received_ns = now_ns;
    batch_->judges = run_->judges();
    batch_->synthetic = false;
    pushed_ns_ = now_ns;
    const std::lock_guard lock(run_->handing_out());
    batch_->rules = run_->rules();
    rules_id_ = batch_->rules.id();
    out.push(std::exchange(batch_, nullptr));
  }

  std::shared_ptr<DeviceRun> run_;
  const size_t replica_;
  const std::vector<ReceiveQueue*> queues_;
  LentBatches lent_;
  const bool has_descriptors_;
  IdleWait wait_;
  Batch* batch_ = nullptr;  // taken, and without packets so far
  DeviceLosses unsaid_;     // no batch has carried them yet
  int64_t pushed_ns_ = 0, losses_read_ns_ = 0;
  uint32_t rules_id_ = 0;
  bool has_no_room_ = false;  // others have reserved all packets that are still wanted, or those have come
  bool ending_ = false, counted_ = false;
  size_t still_waiting_ = 0;  // packets that may still be taken while it drains
};

}  // namespace trama
