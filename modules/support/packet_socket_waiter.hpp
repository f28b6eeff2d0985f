// What a worker sleeps on when none of a replica's packet sockets has packets (engine/doze.hpp).
#pragma once
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace trama {

// Readable when a socket has something to say or a tick is due.
class PacketSocketWaiter {
 public:
  // Throws std::system_error when the system gives no descriptor.
  explicit PacketSocketWaiter(int64_t tick_ns)
      : tick_ns_(tick_ns),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
    itimerspec period{};
    period.it_interval.tv_nsec = period.it_value.tv_nsec = tick_ns;
    if (epoll_ < 0 || timer_ < 0 || timerfd_settime(timer_, 0, &period, nullptr) != 0 || !watch(timer_, kTimer)) {
      close_all();
      throw std::system_error(errno, std::generic_category(), "no descriptor for a source to wait on");
    }
  }
  ~PacketSocketWaiter() { close_all(); }
  PacketSocketWaiter(const PacketSocketWaiter&) = delete;
  PacketSocketWaiter& operator=(const PacketSocketWaiter&) = delete;

  int fd() const { return epoll_; }
  bool watch(int fd, size_t number) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = number;
    return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
  }
  void forget(int fd) { epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

  // Calls `failed(number)` for each socket that reports an error, and puts up with the tick. A worker looks around many
  // times before it sleeps, and asks the system seldom: at a tick and once a millisecond. True when it was asked.
  template <class Failed>
  bool look(int64_t now_ns, Failed failed) {
    if (now_ns < looks_ns_ && now_ns < tick_due_ns_) return false;
    looks_ns_ = now_ns + kPauseNs;
    std::array<epoll_event, 16> events;
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      if (event.data.u64 == kTimer) {
        uint64_t expirations;
        if (read(timer_, &expirations, sizeof expirations) > 0) tick_due_ns_ = now_ns + tick_ns_;
      } else if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) {
        failed(static_cast<size_t>(event.data.u64));
      }
    }
    return true;
  }

 private:
  static constexpr uint64_t kTimer = UINT64_MAX;
  static constexpr int64_t kPauseNs = 1'000'000;
  void close_all() {
    if (epoll_ >= 0) close(epoll_);
    if (timer_ >= 0) close(timer_);
  }
  const int64_t tick_ns_;
  const int epoll_, timer_;
  int64_t looks_ns_ = 0, tick_due_ns_ = 0;
};

}  // namespace trama
