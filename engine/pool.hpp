// Buffers for one stage's output: made at start, taken and given back without locks, last in, first out.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/message.hpp"

namespace trama {

// A free list of indices. Last in, first out, because the buffer used last is the one still in a cache. The upper half
// of the head counts the changes, so that a head that was away and has come back is not mistaken for the old one (ABA).
class PoolBase {
 public:
  virtual ~PoolBase() = default;
  size_t size() const { return buffers_.size(); }

  // Any thread. Null when all buffers are out, which the credit rules exclude.
  Message* take() {
    uint64_t head = head_.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(head) != 0) {
      const uint32_t index = static_cast<uint32_t>(head) - 1;
      const uint64_t below = next_[index].load(std::memory_order_relaxed);
      const uint64_t without = ((head >> 32) + 1) << 32 | below;
      if (!head_.compare_exchange_weak(head, without, std::memory_order_acquire)) continue;
      Message* buffer = buffers_[index].get();
      buffer->skip = false;
      buffer->items = 0;
      buffer->numbered_ = false;
      buffer->readers_.store(1, std::memory_order_relaxed);
      return buffer;
    }
    return nullptr;
  }

  // Any thread.
  void give_back(Message* buffer) {
    const uint32_t index = buffer->index_;
    uint64_t head = head_.load(std::memory_order_relaxed);
    uint64_t with;
    do {
      next_[index].store(static_cast<uint32_t>(head), std::memory_order_relaxed);
      with = ((head >> 32) + 1) << 32 | (index + 1);
    } while (!head_.compare_exchange_weak(head, with, std::memory_order_release, std::memory_order_relaxed));
  }

 protected:
  explicit PoolBase(size_t size) : next_(size) { buffers_.reserve(size); }
  void add(std::unique_ptr<Message> buffer) {
    buffer->home_ = this;
    buffer->index_ = static_cast<uint32_t>(buffers_.size());
    buffers_.push_back(std::move(buffer));
    give_back(buffers_.back().get());
  }

 private:
  std::vector<std::unique_ptr<Message>> buffers_;
  std::vector<std::atomic<uint32_t>> next_;    // the free buffer below, plus one; 0 ends the list
  alignas(64) std::atomic<uint64_t> head_{0};  // changes << 32 | top + 1
};

template <class T>
class Pool : public PoolBase {
 public:
  Pool(size_t size, const Sizes& sizes) : PoolBase(size) {
    for (size_t i = 0; i < size; ++i) add(std::make_unique<T>(sizes));
  }
};

}  // namespace trama
