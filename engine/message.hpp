// What stages exchange: pointers to pooled buffers with a sequence number.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace trama {

class PoolBase;

// How large a graph's messages are. Buffers are made for these sizes before the first packet and never grow.
struct Sizes {
  size_t batch_items = 1024;       // packets of a batch, at most
  size_t window_items = 1u << 17;  // valid pairs of a window (N_V)
};

// Base of every message type. A type T has `static constexpr const char* kName` and a constructor T(const Sizes&) that
// allocates all it will ever need.
struct Message {
  Message() = default;
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  virtual ~Message() = default;
  // Called when nobody holds the message any more and before its buffer is used again, from whichever thread let go
  // last: for what it refers to outside of itself.
  virtual void let_go() noexcept {}

  uint64_t seq = 0;    // the number in its domain, without holes; set by the engine when an opening stage pushes it
  bool skip = false;   // its work was given up, or nothing is left in it: number, credit and tally still go on
  uint32_t items = 0;  // packets or pairs in it, for the counters only

 private:
  friend class PoolBase;
  friend class OutputBase;
  std::atomic<int> readers_{0};  // stages that still hold this buffer; the last one gives it back
  bool numbered_ = false;
  PoolBase* home_ = nullptr;
  uint32_t index_ = 0;
};

}  // namespace trama
