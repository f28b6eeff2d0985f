// When a run begins. Threads that block all signals, as ZeroMQ's do, must not be there before: the command gives up its
// privileges by asking every thread to, with a signal (control/every_thread.hpp). A stage that has such threads takes
// what needs privileges at setup, and starts them when the run has begun.
#pragma once
#include <atomic>

namespace trama {

// Thread-safe. Without a command around it, as in tests, a graph's run has begun.
class RunStart {
 public:
  void hold() { begun_.store(false, std::memory_order_release); }
  void begin() { begun_.store(true, std::memory_order_release); }
  bool begun() const { return begun_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> begun_{true};
};

}  // namespace trama
