// A message with a tally, and the ledger that sums the tallies of whatever has retired.
#pragma once
#include <array>
#include <atomic>

#include "engine/message.hpp"
#include "engine/output.hpp"
#include "modules/support/tally.hpp"

namespace trama {

// All messages of modules/messages.hpp. Behind a fan-out several may carry the tally of one number; the ledger is told
// of one of them.
struct TalliedMessage : Message {
  Tally tally;
};

// The sum of tallies. Added to by any thread, read by any thread.
class TallySum {
 public:
  void add(const Tally& tally) noexcept {
    for (size_t i = 0; i < kVerdicts; ++i) add(packets_[i], tally.packets[i]);
    add(dropped_kernel_, tally.dropped_kernel);
    add(dropped_nic_, tally.dropped_nic);
    add(dropped_ring_, tally.dropped_ring);
    add(removed_in_kernel_, tally.removed_in_kernel);
    add(full_windows_, tally.full_windows);
    add(partial_windows_, tally.partial_windows);
  }

  Tally sum() const {
    Tally sum;
    for (size_t i = 0; i < kVerdicts; ++i) sum.packets[i] = packets_[i].load(std::memory_order_relaxed);
    sum.dropped_kernel = dropped_kernel_.load(std::memory_order_relaxed);
    sum.dropped_nic = dropped_nic_.load(std::memory_order_relaxed);
    sum.dropped_ring = dropped_ring_.load(std::memory_order_relaxed);
    sum.removed_in_kernel = removed_in_kernel_.load(std::memory_order_relaxed);
    sum.full_windows = full_windows_.load(std::memory_order_relaxed);
    sum.partial_windows = partial_windows_.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  static void add(std::atomic<uint64_t>& to, uint64_t count) noexcept {
    if (count != 0) to.fetch_add(count, std::memory_order_relaxed);
  }
  std::array<std::atomic<uint64_t>, kVerdicts> packets_{};
  std::atomic<uint64_t> dropped_kernel_{0}, dropped_nic_{0}, dropped_ring_{0}, removed_in_kernel_{0};
  std::atomic<uint64_t> full_windows_{0}, partial_windows_{0};
};

// What has come to an end so far: the summary's numbers, exact after a run.
class Ledger final : public RetireObserver {
 public:
  void retired(const Message& message) noexcept override {
    if (const auto* tallied = dynamic_cast<const TalliedMessage*>(&message)) sum_.add(tallied->tally);
  }
  Tally sum() const { return sum_.sum(); }

 private:
  TallySum sum_;
};

}  // namespace trama
