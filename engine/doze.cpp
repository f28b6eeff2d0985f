#include "engine/doze.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace trama {

Doze::Doze(size_t seats) : seats_(std::max<size_t>(seats, 1)) {
  for (Seat& seat : seats_) {
    seat.event = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
    seat.epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = seat.event;
    if (seat.event < 0 || seat.epoll < 0 || epoll_ctl(seat.epoll, EPOLL_CTL_ADD, seat.event, &event) != 0)
      throw std::system_error(errno, std::generic_category(), "no descriptor left for a worker to sleep on");
  }
}

Doze::~Doze() {
  for (const Seat& seat : seats_) {
    close(seat.event);
    close(seat.epoll);
  }
}

void Doze::watch_once(int fd) {
  for (const Seat& seat : seats_) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.fd = fd;
    // A descriptor that was closed has left the set by itself, so that both cases occur for the same number.
    if (epoll_ctl(seat.epoll, EPOLL_CTL_MOD, fd, &event) != 0) epoll_ctl(seat.epoll, EPOLL_CTL_ADD, fd, &event);
  }
}

void Doze::wait(size_t worker, int timeout_ms) {
  last_look_.store(false, std::memory_order_seq_cst);
  const Seat& seat = seats_[worker % seats_.size()];
  epoll_event event;
  if (epoll_wait(seat.epoll, &event, 1, timeout_ms) > 0 && event.data.fd == seat.event) {
    uint64_t token;
    [[maybe_unused]] const auto got = read(seat.event, &token, sizeof token);  // another sleeper may have been faster
  }
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void Doze::wake_all() {
  const int each = seats_.size() > 1 ? 1 : sleepers_.load(std::memory_order_seq_cst);
  for (const Seat& seat : seats_) wake(seat, each);
}

// May run in a signal handler, where errno belongs to whoever was interrupted.
void Doze::wake(const Seat& seat, int workers) {
  const int interrupted = errno;
  wakes_.fetch_add(1, std::memory_order_relaxed);
  const uint64_t tokens = static_cast<uint64_t>(workers);
  [[maybe_unused]] const auto put = write(seat.event, &tokens, sizeof tokens);
  errno = interrupted;
}

}  // namespace trama
