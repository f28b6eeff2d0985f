// How a source that has to ask its devices again and again sleeps in between.
//
// A worker that finds nothing to do sleeps until the source's descriptor is readable (engine/doze.hpp). This one is
// readable when one of the devices' own descriptors is, or a while later: the longer nothing has come, the longer the
// while, but never more than a 32nd of the silence so far, and never more than the longest one allowed. So a burst
// after a short pause is met at once. Few packets at a time don't end a silence: at that rate a queue has room for many
// whiles of the longest, and a link with ten packets a second costs no more than one without any.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace trama {

class IdleWait {
 public:
  struct Options {
    int64_t shortest_ns = 50'000;    // what it takes to fall asleep and wake up is a tenth of that
    int64_t longest_ns = 1'000'000;  // 0: never asleep, always readable
    size_t few = 0;                  // packets that may be found after a while without its being too long
  };
  // `fds`: the devices' own; they must stay open as long. Throws std::system_error when the system gives no descriptor.
  IdleWait(std::span<const int> fds, const Options& options);
  ~IdleWait();
  IdleWait(const IdleWait&) = delete;
  IdleWait& operator=(const IdleWait&) = delete;

  int fd() const { return epoll_; }
  // So many packets have come.
  void busy(size_t packets) {
    if (packets > options_.few) silent_since_ns_ = wakes_at_ns_ = 0;
  }
  // Nothing has come: fd() will be readable at the time that this returns. Times are CLOCK_MONOTONIC.
  int64_t sleep(int64_t now_ns);

 private:
  const Options options_;
  int epoll_ = -1, timer_ = -1;
  int64_t silent_since_ns_ = 0;  // 0: not silent
  int64_t wakes_at_ns_ = 0;
};

}  // namespace trama
