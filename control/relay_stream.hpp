// What `trama relay` makes of a stream: the same again, with its numbers, its gaps, its tails and its restarts.
#pragma once
#include <cstdint>
#include <optional>

#include "libclient/stream_window.hpp"
#include "modules/support/stream_publisher.hpp"

namespace trama {

// The inverse of window_info(). Points into both.
Envelope envelope_of(const WindowInfo& info, std::span<const uint8_t> matrix);

// One thread. What comes from archives has no run, and gets one for each time that numbers begin anew.
class RelayStream {
 public:
  explicit RelayStream(StreamPublisher& publisher) : publisher_(publisher) {}

  void window(const StreamWindow& window);
  void tail(WindowInfo info);
  // `missed`: windows that were lost behind the last one.
  void end(uint64_t missed);

  uint64_t unsent() const { return unsent_; }  // windows that came and were too long to be sent on

 private:
  bool is_of_another_run(const StreamWindow& window) const;
  void pass_on(Envelope envelope);
  void close_run(uint64_t missed);

  StreamPublisher& publisher_;
  uint64_t run_ = 0;                     // 0: nothing has come
  uint64_t expected_ = 0;                // number of the next window
  uint64_t told_ = 0;                    // of the windows missed since the last one, those before a tail
  std::optional<WindowInfo> kept_tail_;  // of archives: each has one, the last of a run counts
  WindowInfo last_;
  uint64_t unsent_ = 0;
};

}  // namespace trama
