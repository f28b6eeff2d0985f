// How a source that has to ask its devices again and again sleeps in between.
//
// A worker that finds nothing to do sleeps until the source's descriptor is readable (engine/doze.hpp). This one is
// readable when one of the devices' own descriptors is, or a while later: the longer nothing has come, the longer the
// while, but never more than an eighth of the silence so far, and never more than the longest one allowed. So a burst
// after a short pause is met at once, and a link that is quiet for minutes costs a thousand looks a second or fewer.
#pragma once
#include <cstdint>
#include <span>

namespace trama {

class IdleWait {
 public:
  // `fds`: the devices' own; they must stay open as long. `longest_ns` 0: never asleep, always readable.
  // Throws std::system_error when the system gives no descriptor.
  IdleWait(std::span<const int> fds, int64_t longest_ns);
  ~IdleWait();
  IdleWait(const IdleWait&) = delete;
  IdleWait& operator=(const IdleWait&) = delete;

  int fd() const { return epoll_; }
  // Something has come.
  void busy() { silent_since_ns_ = 0; }
  // Nothing has come: fd() will be readable after a while. `now_ns` is CLOCK_MONOTONIC.
  void sleep(int64_t now_ns);
  // For how long, after so much silence.
  static int64_t pause_ns(int64_t silence_ns, int64_t longest_ns);

 private:
  const int64_t longest_ns_;
  int epoll_ = -1, timer_ = -1;
  int64_t silent_since_ns_ = 0;  // 0: not silent
  int64_t wakes_at_ns_ = 0;
};

}  // namespace trama
