// Credits bound everything: a credit is a sequence number, and number n may start only when n - C has retired.
#pragma once
#include <atomic>
#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

namespace trama {

// The numbers of one domain (source to stamp, or stamp to sinks). As the numbers alive never span more than C, a
// reorder point needs C slots, a ring 2C places and a pool C buffers, in every graph and on every schedule. Counting
// credits instead of tying them to numbers would not give that: one slow message, and the others run ahead of it.
//
// Calls: reserve() and take() by the stage that opens the domain, a source also by several replicas at once; share(),
// arrive() and leave() by any thread.
class Credits {
 public:
  explicit Credits(size_t size) : slots_(size) {
    for (size_t i = 0; i < size; ++i) slots_[i].free_for.store(i, std::memory_order_relaxed);
  }

  size_t size() const { return slots_.size(); }

  // A credit for one more number; false when that one can't start yet. Whoever has one takes a number sooner or later,
  // which then can't fail. Which number it is, is open until then: a replica that waits with a credit in its hands
  // holds up nobody but itself, and numbers are given in the order in which messages are pushed.
  bool reserve() {
    uint64_t number = reserved_.load(std::memory_order_seq_cst);
    for (;;) {
      if (slots_[number % size()].free_for.load(std::memory_order_seq_cst) != number) {
        // Not free, unless another replica has reserved this number meanwhile and it has even retired.
        const uint64_t looked_at = std::exchange(number, reserved_.load(std::memory_order_seq_cst));
        if (number == looked_at) return false;
      } else if (reserved_.compare_exchange_weak(number, number + 1, std::memory_order_seq_cst)) {
        return true;
      }
    }
  }

  uint64_t take() {
    // After this many takes at least one of the takers had reserved this very number or a later one, so that all of
    // them have seen its slot become free: both counters hand on what was seen.
    const uint64_t number = next_.fetch_add(1, std::memory_order_seq_cst);
    assert(number < reserved_.load(std::memory_order_relaxed));
    Slot& slot = slots_[number % size()];
    slot.arriving.store(1, std::memory_order_relaxed);
    slot.leaving.store(1, std::memory_order_relaxed);
    return number;
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
  bool leave(uint64_t seq) {
    Slot& slot = slots_[seq % size()];
    if (slot.leaving.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
    slot.free_for.store(seq + size(), std::memory_order_seq_cst);
    return true;
  }

  // Numbers alive now. Exact when nobody moves, as after a run; otherwise it may be off by those on the move.
  size_t alive() const {
    size_t alive = 0;
    for (const Slot& slot : slots_) alive += slot.leaving.load(std::memory_order_relaxed) != 0;
    return alive;
  }
  uint64_t taken() const { return next_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    std::atomic<uint64_t> free_for{0};  // the number that may start here, once all before it have been reserved
    std::atomic<int> arriving{0};
    std::atomic<int> leaving{0};
  };
  std::vector<Slot> slots_;
  std::atomic<uint64_t> reserved_{0}, next_{0};  // numbers with a credit; numbers taken, which are never more
};

}  // namespace trama
