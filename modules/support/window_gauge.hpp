// Measures a window now and then, for those who watch the run.
//
// All quantities of a window cost about 7 ns a packet, a third of what the whole main job does. So one window a second
// is measured, the first that comes: a thousandth of a core, whoever watches, and whether anybody does.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "libclient/formats/quantities.hpp"
#include "modules/support/window_log.hpp"

namespace trama {

// Shared by the replicas of a stage.
class WindowGauge {
 public:
  static constexpr size_t kMostLinks = 1 << 20;  // of a window that is measured; 16 MiB
  static constexpr int64_t kEveryNs = 1'000'000'000;

  WindowGauge(std::shared_ptr<WindowLog> log, size_t window_items)
      : log_(std::move(log)), counter_(std::min(window_items, kMostLinks)) {}

  // Any thread; never waits, takes no memory.
  void look(uint64_t seq, const HyperCsr& matrix) noexcept {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    look(seq, matrix, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
  void look(uint64_t seq, const HyperCsr& matrix, int64_t now_ns) noexcept {
    if (matrix.links() > kMostLinks || now_ns < next_ns_.load(std::memory_order_relaxed)) return;
    if (busy_.test_and_set(std::memory_order_acquire)) return;
    if (now_ns >= next_ns_.load(std::memory_order_relaxed)) {  // nobody has just done it
      next_ns_.store(now_ns + kEveryNs, std::memory_order_relaxed);
      log_->measured(seq, counter_.count(matrix));
    }
    busy_.clear(std::memory_order_release);
  }

 private:
  const std::shared_ptr<WindowLog> log_;
  std::atomic<int64_t> next_ns_{INT64_MIN};
  std::atomic_flag busy_;
  QuantityCounter counter_;  // by who has set busy_
};

}  // namespace trama
