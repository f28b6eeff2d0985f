// An edge: the bounded queue in front of a stage, and how it spreads messages over the stage's replicas.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "engine/message.hpp"
#include "engine/ring.hpp"

namespace trama {

enum class Route {
  any,        // one queue, whoever is free takes the next
  by_window,  // number modulo replicas: each shard keeps its core and its cache
};

class Edge {
 public:
  // `slots`: how many messages a reader that may lose holds at most; 0 for a reader that never loses.
  Edge(size_t credits, size_t producers, Route route, size_t replicas, size_t slots) : slots_(slots) {
    const size_t shards = route == Route::by_window ? replicas : 1;
    for (size_t i = 0; i < shards; ++i) shards_.push_back(std::make_unique<Shard>(credits + slots, producers));
  }

  bool may_lose() const { return slots_ > 0; }
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  uint64_t failed_pushes() const { return failed_pushes_.load(std::memory_order_relaxed); }
  size_t peak() const {
    int peak = 0;
    for (const auto& shard : shards_) peak = std::max(peak, shard->peak.load(std::memory_order_relaxed));
    return static_cast<size_t>(peak);
  }

  // Pushed and not yet fully processed: draining counts on "processed", not on "taken out".
  bool empty() const {
    for (const auto& shard : shards_)
      if (shard->depth.load(std::memory_order_seq_cst) != 0) return false;
    return true;
  }
  bool empty_for(size_t replica) const { return shard_of(replica).depth.load(std::memory_order_seq_cst) == 0; }

  // False: all slots of a reader that may lose are taken, and the loss is counted. Otherwise it never fails; a push
  // that the ring refuses would be a broken credit rule, is counted, and is tried until there is room.
  bool push(size_t producer, Message* message) {
    if (may_lose() && held_.fetch_add(1, std::memory_order_acq_rel) >= static_cast<int>(slots_)) {
      held_.fetch_sub(1, std::memory_order_acq_rel);
      lost_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    Shard& shard = *shards_[shards_.size() == 1 ? 0 : message->seq % shards_.size()];
    const int depth = shard.depth.fetch_add(1, std::memory_order_seq_cst) + 1;
    if (depth > shard.peak.load(std::memory_order_relaxed)) shard.peak.store(depth, std::memory_order_relaxed);
    while (!shard.ring.push(producer, message)) {
      failed_pushes_.fetch_add(1, std::memory_order_relaxed);
      std::this_thread::yield();
    }
    return true;
  }
  Message* pop(size_t replica) {
    Message* message = nullptr;
    return shard_of(replica).ring.pop(message) ? message : nullptr;
  }
  void processed(size_t replica) { shard_of(replica).depth.fetch_sub(1, std::memory_order_seq_cst); }
  // A reader that may lose has let go of a message.
  void slot_free() { held_.fetch_sub(1, std::memory_order_acq_rel); }

 private:
  struct Shard {
    Shard(size_t credits, size_t producers) : ring(credits, producers) {}
    Ring<Message*> ring;
    alignas(64) std::atomic<int> depth{0};
    std::atomic<int> peak{0};
  };
  Shard& shard_of(size_t replica) { return *shards_[shards_.size() == 1 ? 0 : replica]; }
  const Shard& shard_of(size_t replica) const { return *shards_[shards_.size() == 1 ? 0 : replica]; }

  std::vector<std::unique_ptr<Shard>> shards_;
  const size_t slots_;
  std::atomic<int> held_{0};
  std::atomic<uint64_t> lost_{0};
  std::atomic<uint64_t> failed_pushes_{0};
};

}  // namespace trama
