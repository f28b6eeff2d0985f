// The last windows of a stream, as they go out: what subscribers that are behind still get, and late ones begin with.
#pragma once
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

namespace trama {

// An envelope that several subscribers are sent at the same time.
struct StreamFrame {
  std::shared_ptr<const uint8_t[]> bytes;
  size_t size = 0;
};

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

  // This number has no window that anybody can get.
  void pass(uint64_t seq) { next_ = seq + 1; }

  uint64_t next() const { return next_; }  // the least number that may still come

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
