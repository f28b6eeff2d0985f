// The thread behind the stage that publishes: takes windows over from the stage, and never makes it wait.
#pragma once
#include <sys/eventfd.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include "engine/stage.hpp"
#include "libclient/formats/file_bytes.hpp"

namespace trama {

// As engine/side_thread.hpp, for a thread that has descriptors to watch as well.
template <class T>
class StreamThread {
 public:
  struct Work {
    std::function<void(T* message, OutputBase* output)> take;  // each message, with the output to release it to
    std::function<void(int wake_fd)> serve;                    // waits until `wake_fd` is readable, or a second
    std::function<void()> finish;                              // once, when all was taken
  };

  // The three run on the thread and must not throw. Throws std::system_error when there are no descriptors left.
  StreamThread(const ReplicaContext& context, Work work)
      : control_(context.control),
        work_(std::move(work)),
        slots_(context.most_held + 1),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_) throw std::system_error(errno, std::generic_category(), "eventfd");
    thread_ = std::thread([this] { run(); });
  }
  ~StreamThread() {
    end();
    thread_.join();
  }
  StreamThread(const StreamThread&) = delete;
  StreamThread& operator=(const StreamThread&) = delete;

  // From process(): there is room for as many messages as the stage can hold.
  void hand(T* message, OutputBase& output) {
    slots_[handed_.load(std::memory_order_relaxed) % slots_.size()] = {message, &output};
    handed_.fetch_add(1, std::memory_order_release);
    eventfd_write(wake_.get(), 1);
  }
  // From drain(): blocked until all is done; the engine is woken then.
  Step finish() {
    end();
    return done_.load(std::memory_order_acquire) ? Step::done : Step::blocked;
  }

 private:
  struct Slot {
    T* message = nullptr;
    OutputBase* output = nullptr;
  };
  void end() {
    if (ending_.exchange(true, std::memory_order_release)) return;
    eventfd_write(wake_.get(), 1);
  }
  void run() {
    size_t taken = 0;
    for (;;) {
      const bool ending = ending_.load(std::memory_order_acquire);  // read first: nothing is handed over behind it
      for (const size_t handed = handed_.load(std::memory_order_acquire); taken != handed; ++taken) {
        const Slot slot = slots_[taken % slots_.size()];
        work_.take(slot.message, slot.output);
      }
      if (ending) break;
      work_.serve(wake_.get());
      eventfd_t value;
      (void)eventfd_read(wake_.get(), &value);
    }
    work_.finish();
    done_.store(true, std::memory_order_release);
    control_.wake();
  }

  EngineControl& control_;
  const Work work_;
  std::vector<Slot> slots_;
  FileDescriptor wake_;
  std::atomic<size_t> handed_{0};
  std::atomic<bool> ending_{false}, done_{false};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace trama
