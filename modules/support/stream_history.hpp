// The last windows of a stream, as they go out: what subscribers that are behind still get, and late ones begin with.
#pragma once
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>

#include "libclient/formats/envelope.hpp"

namespace trama {

// An envelope that several subscribers are sent at the same time.
struct StreamFrame {
  std::shared_ptr<const uint8_t[]> bytes;
  size_t size = 0;
};

// No bytes: it would be longer than `max_bytes`, a text of it is too long, or memory is short.
inline StreamFrame make_frame(const Envelope& envelope, uint64_t max_bytes) {
  StreamFrame frame;
  frame.size = envelope_bytes(envelope);
  std::shared_ptr<uint8_t[]> bytes;
  if (frame.size <= max_bytes) bytes.reset(new (std::nothrow) uint8_t[frame.size]);
  if (bytes && write_envelope(envelope, {bytes.get(), frame.size}) == frame.size) frame.bytes = std::move(bytes);
  return frame;
}

struct KeptWindow {
  uint64_t seq = 0;
  int64_t last_ns = 0;
  StreamFrame frame;
};

// Numbers ascend, and may have holes where windows never got here. One thread.
class StreamHistory {
 public:
  explicit StreamHistory(size_t most) : most_(most) {}

  void add(KeptWindow window) {
    assert(window.seq >= next_);
    next_ = window.seq + 1;
    windows_.push_back(std::move(window));
    if (windows_.size() > most_) windows_.pop_front();
  }

  // The numbers below this one have no windows that come later.
  void pass_below(uint64_t seq) { next_ = std::max(next_, seq); }
  // Another run, whose first window has this number or a later one.
  void restart(uint64_t seq) {
    windows_.clear();
    next_ = seq;
  }

  uint64_t next() const { return next_; }  // the least number that may still come
  uint64_t oldest() const { return windows_.empty() ? next_ : windows_.front().seq; }  // that is kept; else next()
  size_t size() const { return windows_.size(); }

  // The first kept window with this number or a later one; null: there is none yet.
  const KeptWindow* at_or_after(uint64_t seq) const {
    const auto found = std::lower_bound(windows_.begin(), windows_.end(), seq,
                                        [](const KeptWindow& window, uint64_t number) { return window.seq < number; });
    return found == windows_.end() ? nullptr : &*found;
  }
  // The number with which the last `count` windows begin, or as many as there are.
  uint64_t last(uint64_t count) const {
    if (windows_.empty() || count == 0) return next();
    return windows_[windows_.size() - static_cast<size_t>(std::min<uint64_t>(count, windows_.size()))].seq;
  }
  // The number of the first kept window with packets at this time or later; next() without one.
  uint64_t since(int64_t time_ns) const {
    const auto found = std::find_if(windows_.begin(), windows_.end(),
                                    [=](const KeptWindow& window) { return window.last_ns >= time_ns; });
    return found == windows_.end() ? next() : found->seq;
  }

 private:
  const size_t most_;
  uint64_t next_ = 0;
  std::deque<KeptWindow> windows_;
};

}  // namespace trama
