// Credits bound everything: a credit is a sequence number, and number n may start only when n - C has retired.
#pragma once
#include <atomic>
#include <cassert>
#include <cstdint>
#include <vector>

namespace trama {

// The numbers of one domain (source to stamp, or stamp to sinks). As the numbers alive never span more than C, a
// reorder point needs C slots, a ring 2C places and a pool C buffers, in every graph and on every schedule. Counting
// credits instead of tying them to numbers would not give that: one slow message, and the others run ahead of it.
//
// Calls: available() and take() by the one stage that opens the domain; share(), arrive() and leave() by any thread.
class Credits {
 public:
  explicit Credits(size_t size) : slots_(size) {}

  size_t size() const { return slots_.size(); }

  // True if the next number may start. Stays true until take(), since only the caller takes numbers.
  bool available() const { return slots_[next_ % size()].leaving.load(std::memory_order_seq_cst) == 0; }

  uint64_t take() {
    assert(available());
    Slot& slot = slots_[next_ % size()];
    slot.arriving.store(1, std::memory_order_relaxed);
    slot.leaving.store(1, std::memory_order_relaxed);
    return next_++;
  }

  // A fan-out: `more` further stages will end this number. By a stage that holds it, before it hands it on.
  void share(uint64_t seq, int more) {
    Slot& slot = slots_[seq % size()];
    slot.arriving.fetch_add(more, std::memory_order_relaxed);
    slot.leaving.fetch_add(more, std::memory_order_relaxed);
  }

  // A stage that ends the number calls arrive(), gives its buffer back, and calls leave(). Two steps, because a buffer
  // must go back before its credit, while the last one to arrive must still find the buffer whole.
  // arrive() is true for the last one; leave() is true when this retired the number.
  bool arrive(uint64_t seq) { return slots_[seq % size()].arriving.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  bool leave(uint64_t seq) { return slots_[seq % size()].leaving.fetch_sub(1, std::memory_order_seq_cst) == 1; }

  // Numbers alive now. Exact when nobody moves, as after a run; otherwise it may be off by those on the move.
  size_t alive() const {
    size_t alive = 0;
    for (const Slot& slot : slots_) alive += slot.leaving.load(std::memory_order_relaxed) != 0;
    return alive;
  }
  uint64_t taken() const { return next_; }

 private:
  struct Slot {
    std::atomic<int> arriving{0};
    std::atomic<int> leaving{0};
  };
  std::vector<Slot> slots_;
  uint64_t next_ = 0;  // owned by the stage that opens the domain
};

}  // namespace trama
