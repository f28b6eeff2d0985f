// A thread behind a stage, for work that may block: a disk, a slow peer. The stage itself never waits.
#pragma once
#include <atomic>
#include <functional>
#include <semaphore>
#include <thread>
#include <vector>

#include "engine/stage.hpp"

namespace trama {

// Messages are handled one after the other in the order they were handed over. There is room for as many as can be
// alive, one for each credit, so that handing over never fails and never waits.
template <class T>
class SideThread {
 public:
  // `handle` gets each message, and null once, at the end. Both run on the thread; it may release messages.
  SideThread(const ReplicaContext& context, std::function<void(T*)> handle)
      : control_(context.control),
        handle_(std::move(handle)),
        slots_(context.input_credits + 1),
        thread_([this] { work(); }) {}
  ~SideThread() {
    if (!ending_) hand(nullptr);
    thread_.join();
  }
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  // From process(): the stage's own calls, one at a time.
  void hand(T* message) {
    ending_ = message == nullptr;
    slots_[tail_++ % slots_.size()] = message;
    waiting_.release();
  }
  // From drain(): blocked until all that was handed over is done with; the engine is woken then.
  Step finish() {
    if (!ending_) hand(nullptr);
    return done_.load(std::memory_order_acquire) ? Step::done : Step::blocked;
  }

 private:
  void work() {
    for (size_t head = 0;; ++head) {
      waiting_.acquire();
      T* message = slots_[head % slots_.size()];
      handle_(message);
      if (message == nullptr) break;
    }
    done_.store(true, std::memory_order_release);
    control_.wake();
  }

  EngineControl& control_;
  std::function<void(T*)> handle_;
  std::vector<T*> slots_;
  std::counting_semaphore<> waiting_{0};
  std::atomic<bool> done_{false};
  size_t tail_ = 0;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace trama
