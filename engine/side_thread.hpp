// A thread behind a stage, for work that may block: a disk, a slow peer. The stage itself never waits.
#pragma once
#include <atomic>
#include <functional>
#include <semaphore>
#include <thread>
#include <vector>

#include "engine/stage.hpp"

namespace trama {

// Messages are handled one after the other in the order they were handed over. There is room for as many as the stage
// can hold, so that handing over never fails and never waits.
template <class T>
class SideThread {
 public:
  // `handle` gets each message with the output to release it to, and null once, at the end. It runs on the thread and
  // must not throw.
  using Handle = std::function<void(T* message, OutputBase* output)>;

  SideThread(const ReplicaContext& context, Handle handle)
      : control_(context.control),
        handle_(std::move(handle)),
        slots_(context.most_held + 1),
        thread_([this] { work(); }) {}
  ~SideThread() {
    if (!ending_) end();
    thread_.join();
  }
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  // From process(): the stage's own calls, one at a time.
  void hand(T* message, OutputBase& output) { put({message, &output}); }
  // From drain(): blocked until all that was handed over is done with; the engine is woken then.
  Step finish() {
    if (!ending_) end();
    return done_.load(std::memory_order_acquire) ? Step::done : Step::blocked;
  }

 private:
  struct Slot {
    T* message = nullptr;
    OutputBase* output = nullptr;
  };
  void put(Slot slot) {
    slots_[tail_++ % slots_.size()] = slot;
    waiting_.release();
  }
  void end() {
    ending_ = true;
    put({});
  }
  void work() {
    for (size_t head = 0;; ++head) {
      waiting_.acquire();
      const Slot slot = slots_[head % slots_.size()];
      handle_(slot.message, slot.output);
      if (slot.message == nullptr) break;
    }
    done_.store(true, std::memory_order_release);
    control_.wake();
  }

  EngineControl& control_;
  const Handle handle_;
  std::vector<Slot> slots_;
  std::counting_semaphore<> waiting_{0};
  std::atomic<bool> done_{false};
  size_t tail_ = 0;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace trama
