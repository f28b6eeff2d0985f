#include "modules/support/idle_wait.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace trama {
namespace {

bool watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

IdleWait::IdleWait(std::span<const int> fds, const Options& options) : options_(options) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  const bool watched = epoll_ >= 0 && timer_ >= 0 && watch(epoll_, timer_) &&
                       std::all_of(fds.begin(), fds.end(), [this](int fd) { return watch(epoll_, fd); });
  if (watched) return;
  const int error = errno;
  if (epoll_ >= 0) close(epoll_);
  if (timer_ >= 0) close(timer_);
  throw std::system_error(error, std::generic_category(), "no descriptor for a source to wait on");
}

IdleWait::~IdleWait() {
  close(epoll_);
  close(timer_);
}

// A timer that was set and has not gone off is left as it is: a worker looks around many times before it sleeps.
int64_t IdleWait::sleep(int64_t now_ns) {
  if (silent_since_ns_ == 0) silent_since_ns_ = now_ns;
  if (now_ns < wakes_at_ns_) return wakes_at_ns_;
  const int64_t wanted = std::max((now_ns - silent_since_ns_) / 32, options_.shortest_ns);
  const int64_t pause = std::max<int64_t>(std::min(wanted, options_.longest_ns), 1);
  wakes_at_ns_ = now_ns + pause;
  itimerspec time{};
  time.it_value.tv_sec = pause / 1'000'000'000;
  time.it_value.tv_nsec = pause % 1'000'000'000;
  timerfd_settime(timer_, 0, &time, nullptr);  // an old expiration is forgotten by this
  return wakes_at_ns_;
}

}  // namespace trama
