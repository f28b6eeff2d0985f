// Where a replica's results go.
#pragma once
#include <cassert>
#include <vector>

#include "engine/credits.hpp"
#include "engine/doze.hpp"
#include "engine/edge.hpp"
#include "engine/message.hpp"
#include "engine/pool.hpp"

namespace trama {

// Told of every message whose number ends in a sink, once a number, while the message is still whole. Calls come from
// any worker, several at a time.
class RetireObserver {
 public:
  virtual ~RetireObserver() = default;
  virtual void retired(const Message& message) noexcept = 0;
};

// The part of a graph that shares one sequence of numbers.
struct Domain {
  explicit Domain(size_t credits) : numbers(credits) {}
  Credits numbers;
  // Set only where all numbers end in sinks. Where a stage opens the next domain behind this one, what its messages
  // carried goes on there and is reported from there, once.
  RetireObserver* observer = nullptr;
};

class OutputBase {
 public:
  // Hands a message to all readers. The stage must not touch it afterwards.
  void push(Message* message) {
    if (!message->numbered_) {
      assert(opens_ && "only a stage that opens a domain may push a message without a number");
      message->seq = to_->numbers.take();
      message->numbered_ = true;
    }
    assert(!following_ && "release the input before you push what follows it: buffer first, credit second");
    ++pushed_;
    items_ += message->items;
    const uint64_t seq = message->seq;
    const int ways = static_cast<int>(ways_.size());
    if (ways != 1) message->readers_.fetch_add(ways - 1, std::memory_order_relaxed);
    if (keepers_ > 1) to_->numbers.share(seq, keepers_ - 1);
    if (keepers_ == 0) arrive(*to_, *message);
    // After the last push to a reader that keeps it, the message may be gone already.
    for (const Way& way : ways_)
      if (!way.edge->push(way.producer, message)) give_back(message);
    if (keepers_ == 0) to_->numbers.leave(seq);
    doze_->notify();
  }

  // Ends this stage's hold on an input. Thread-safe in a sink.
  void release(Message* message) {
    if (message == following_) following_ = nullptr;
    if (loses_) {
      give_back(message);
      input_->slot_free();
      return;
    }
    if (!ends_) return give_back(message);
    const uint64_t seq = message->seq;
    arrive(*from_, *message);
    give_back(message);  // buffer first, credit second: whoever has a credit finds a buffer
    if (from_->numbers.leave(seq)) doze_->notify();
  }

  uint64_t pushed() const { return pushed_; }
  uint64_t items() const { return items_; }

 protected:
  // A buffer for a number that this stage will take when it pushes it; null without a credit: return Step::blocked.
  // One such buffer at a time. A source may keep it while it has no data.
  Message* begin() {
    assert(opens_ && pool_ && "only a stage that opens a domain begins messages");
    return to_->numbers.reserve() ? pool_->take() : nullptr;
  }
  // A buffer that takes over the number of `in`. Never fails, since a pool has as many buffers as the domain credits.
  Message* follow(const Message& in) {
    assert(pool_ && "a stage whose input and output are of one type passes its input on");
    Message* out = pool_->take();
    assert(out && "a pool has as many buffers as its domain has credits");
    out->seq = in.seq;
    out->skip = in.skip;
    out->numbered_ = true;
    following_ = &in;
    return out;
  }

 private:
  friend class Runtime;
  struct Way {
    Edge* edge;
    size_t producer;  // this replica's number in that edge's rings
  };
  static void arrive(Domain& domain, const Message& message) {
    if (domain.numbers.arrive(message.seq) && domain.observer) domain.observer->retired(message);
  }
  static void give_back(Message* message) {
    if (message->readers_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    message->let_go();
    message->home_->give_back(message);
  }

  std::vector<Way> ways_;  // readers that may lose first, so that the number lives until this stage has let go
  int keepers_ = 0;        // readers that never lose
  bool opens_ = false;     // pushes take new numbers of `to_`
  bool ends_ = false;      // numbers of `from_` end here
  bool loses_ = false;     // a reader that may lose: it has no share in the credits
  Edge* input_ = nullptr;
  Domain* from_ = nullptr;
  Domain* to_ = nullptr;
  PoolBase* pool_ = nullptr;
  Doze* doze_ = nullptr;
  const Message* following_ = nullptr;  // an input whose number has another buffer already
  uint64_t pushed_ = 0, items_ = 0;
};

template <class Out>
class Output : public OutputBase {
 public:
  Out* begin() { return static_cast<Out*>(OutputBase::begin()); }
  Out* follow(const Message& in) { return static_cast<Out*>(OutputBase::follow(in)); }
};

}  // namespace trama
