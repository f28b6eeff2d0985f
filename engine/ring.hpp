// The bounded lock-free ring behind every edge. The only file that includes moodycamel.
//
// Promise: push() does not fail while the numbers alive span fewer than `credits`, whichever thread is preempted where.
// It takes 2 * credits places for that and not `credits`: a consumer may be preempted between claiming a place and
// giving it back, and until its message retires at most 2 * credits - 2 others can pass through the ring.
//
// The queue is first in, first out only for each producer token. A token belongs to a producing replica, never to a
// thread: a serial stage that moves between workers would otherwise lose its order.
#pragma once
#include <concurrentqueue/concurrentqueue.h>

#include <memory>
#include <vector>

namespace trama {

template <class T>
class Ring {
 public:
  Ring(size_t credits, size_t producers) : queue_(2 * credits, producers, 0) {
    for (size_t i = 0; i < producers; ++i) tokens_.push_back(std::make_unique<moodycamel::ProducerToken>(queue_));
  }
  // One thread at a time for each producer. Allocates nothing; false when full.
  bool push(size_t producer, T item) { return queue_.try_enqueue(*tokens_[producer], item); }
  // Any thread. False when nothing was found, which may be said although another thread has just pushed.
  bool pop(T& item) { return queue_.try_dequeue_non_interleaved(item); }

 private:
  struct Traits : moodycamel::ConcurrentQueueDefaultTraits {
    static constexpr size_t BLOCK_SIZE = 8;  // blocks stay with their producer for ever: small ones waste least
    static constexpr size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 0;  // producers without a token would allocate
  };
  moodycamel::ConcurrentQueue<T, Traits> queue_;
  std::vector<std::unique_ptr<moodycamel::ProducerToken>> tokens_;
};

}  // namespace trama
