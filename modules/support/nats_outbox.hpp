// The windows that a publisher has sent to a NATS server, or is going to, and whose word that they are stored hasn't
// come yet. Knows nothing of connections and clocks; one thread.
//
// It holds so many and no more: the oldest is given up for each that comes beyond, and counted.
#pragma once
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>
#include <limits>

#include "modules/support/stream_history.hpp"

namespace trama {

class NatsOutbox {
 public:
  struct Entry {
    uint64_t seq = 0;
    StreamFrame frame;
    int64_t due_ns = 0;  // when it is to be sent (again)
    bool sent = false;   // once at least
  };
  struct Totals {
    uint64_t stored = 0, given_up = 0, too_long = 0;
  };

  explicit NatsOutbox(size_t most) : most_(most) {}

  void add(uint64_t seq, StreamFrame frame) {
    assert(seq >= next_);
    next_ = seq + 1;
    entries_.push_back({seq, std::move(frame)});
    if (entries_.size() <= most_) return;
    entries_.pop_front();
    ++totals_.given_up;
  }
  // This number has no window.
  void pass(uint64_t seq) { next_ = std::max(next_, seq + 1); }

  // The first window that is to be sent now. One that has been sent before waits for the store (`again`), so that live
  // subscribers get each once as long as there is nobody to store it.
  Entry* due(int64_t now_ns, bool again) {
    for (Entry& entry : entries_)
      if (entry.due_ns <= now_ns && (again || !entry.sent)) return &entry;
    return nullptr;
  }
  void sent(Entry& entry, int64_t again_ns) {
    entry.sent = true;
    entry.due_ns = again_ns;
  }
  // The server has it. Nothing for one that was given up meanwhile, or acknowledged before.
  void stored(uint64_t seq) { totals_.stored += remove(seq); }
  void refuse_too_long(uint64_t seq) { totals_.too_long += remove(seq); }
  void later(uint64_t seq, int64_t due_ns) {
    if (const auto found = find(seq); found != entries_.end()) found->due_ns = due_ns;
  }
  // Nobody knows what came over a connection that is gone: everything is sent again, in order.
  void everything_again() {
    for (Entry& entry : entries_) entry.due_ns = 0;
  }
  void give_up_rest() {
    totals_.given_up += entries_.size();
    entries_.clear();
  }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  uint64_t next() const { return next_; }  // the least number that may still come
  // All below it have been sent, or never will be.
  uint64_t unsent() const {
    const auto first = std::find_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return !entry.sent; });
    return first == entries_.end() ? next_ : first->seq;
  }
  // All below it are stored or lost.
  uint64_t settled() const { return entries_.empty() ? next_ : entries_.front().seq; }
  int64_t next_due_ns() const {
    int64_t first = std::numeric_limits<int64_t>::max();
    for (const Entry& entry : entries_) first = std::min(first, entry.due_ns);
    return first;
  }
  const Totals& totals() const { return totals_; }

 private:
  std::deque<Entry>::iterator find(uint64_t seq) {
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), seq,
                                        [](const Entry& entry, uint64_t number) { return entry.seq < number; });
    return found != entries_.end() && found->seq == seq ? found : entries_.end();
  }
  uint64_t remove(uint64_t seq) {
    const auto found = find(seq);
    if (found == entries_.end()) return 0;
    entries_.erase(found);
    return 1;
  }

  const size_t most_;
  std::deque<Entry> entries_;
  uint64_t next_ = 0;
  Totals totals_;
};

}  // namespace trama
