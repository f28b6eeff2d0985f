// Ends the program, with the seed of the run at hand, when no run has ended for thirty seconds, unless said otherwise:
// a stall then is a failure with a name and not a test that hangs.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace trama {

class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit = std::chrono::seconds(30))
      : limit_(limit), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  // A run with this seed begins.
  void begins(uint64_t seed) {
    seed_.store(seed, std::memory_order_relaxed);
    runs_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    for (uint64_t seen = 0; !changed_.wait_for(lock, limit_, [this] { return over_; });) {
      const uint64_t runs = runs_.load(std::memory_order_relaxed);
      if (runs == seen) {
        std::fprintf(stderr, "FAIL stall: nothing has ended for %lld s, seed %llu\n",
                     static_cast<long long>(limit_.count()),
                     static_cast<unsigned long long>(seed_.load(std::memory_order_relaxed)));
        std::abort();
      }
      seen = runs;
    }
  }

  const std::chrono::seconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::atomic<uint64_t> seed_{0}, runs_{0};
  std::thread thread_;
};

}  // namespace trama
