// What stages have to tell the command while it runs: inputs, archives, losses, messages, progress.
#pragma once
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"
#include "modules/support/input_report.hpp"
#include "modules/support/outlet_report.hpp"
#include "modules/support/tallied.hpp"

namespace trama {

// Thread-safe. Stages call it when a file begins or ends, or when something happens for the first time, never for a
// packet; progress alone is for every batch.
class RunReport {
 public:
  void input_ended(const InputReport& input) {
    const std::lock_guard lock(mutex_);
    inputs_.push_back(input);
  }
  void archive_ended(const std::string& path) {
    const std::lock_guard lock(mutex_);
    archives_.push_back(path);
  }
  // A stage publishes from now on; by the number that is returned it tells how it is doing, as often as it likes.
  size_t outlet_opened(OutletReport outlet) {
    const std::lock_guard lock(mutex_);
    outlets_.push_back(std::move(outlet));
    return outlets_.size() - 1;
  }
  void outlet_counts(size_t outlet, const OutletCounts& counts) {
    const std::lock_guard lock(mutex_);
    outlets_[outlet].counts = counts;
  }
  // The command says it on stderr.
  void say(Diagnostic diagnostic) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(diagnostic));
  }
  // A window did not reach its archive.
  void window_lost() { windows_lost_.fetch_add(1, std::memory_order_relaxed); }
  // The output can't be written on: the run has failed whatever else comes of it.
  void output_failed() { output_failed_.store(true, std::memory_order_relaxed); }

  // What became of a batch, as soon as it is known: for those who watch the run. The summary's numbers come later, with
  // the windows that carry them.
  void judged(const Tally& tally) noexcept { judged_.add(tally); }
  Tally judged() const { return judged_.sum(); }

  void expect_bytes(uint64_t bytes) { bytes_expected_.fetch_add(bytes, std::memory_order_relaxed); }
  void progress(uint64_t bytes, uint64_t packets) {
    bytes_read_.fetch_add(bytes, std::memory_order_relaxed);
    packets_read_.fetch_add(packets, std::memory_order_relaxed);
  }

  std::vector<InputReport> inputs() const {
    const std::lock_guard lock(mutex_);
    return inputs_;
  }
  std::vector<std::string> archives() const {
    const std::lock_guard lock(mutex_);
    return archives_;
  }
  std::vector<OutletReport> outlets() const {
    const std::lock_guard lock(mutex_);
    return outlets_;
  }
  std::vector<Diagnostic> take_messages() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }
  uint64_t windows_lost() const { return windows_lost_.load(std::memory_order_relaxed); }
  bool has_output_failed() const { return output_failed_.load(std::memory_order_relaxed); }
  uint64_t bytes_expected() const { return bytes_expected_.load(std::memory_order_relaxed); }  // 0: not known
  uint64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }
  uint64_t packets_read() const { return packets_read_.load(std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  std::vector<InputReport> inputs_;
  std::vector<std::string> archives_;
  std::vector<OutletReport> outlets_;
  std::vector<Diagnostic> messages_;
  std::atomic<uint64_t> windows_lost_{0}, bytes_expected_{0}, bytes_read_{0}, packets_read_{0};
  std::atomic<bool> output_failed_{false};
  TallySum judged_;
};

}  // namespace trama
