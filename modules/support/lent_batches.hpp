// Fills batches with frames that devices lend, and gives them back when the batches have been let go.
//
//   LentBatches lent(queues, {.batch_items = 1024, .link_type = 1});
//   lent.reclaim();
//   const Filled filled = lent.fill(batch.packets, 0, now_ns);
//   batch.lease = filled.lease;                      // PacketBatch::let_go() counts it down, in any thread
//
// One replica of a source has one of these, with the queues that are its own. Queues are asked in turn, so that a busy
// one doesn't starve the others. How many batches can be out at once is fixed, and so is all memory.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "modules/support/lazy_memory.hpp"
#include "modules/support/packet.hpp"
#include "modules/support/packet_device.hpp"

namespace trama {

struct ReceivedCount {
  uint64_t packets = 0, bytes = 0;  // bytes on the wire
  ReceivedCount& operator+=(const ReceivedCount& other) {
    packets += other.packets;
    bytes += other.bytes;
    return *this;
  }
};

class LentBatches {
 public:
  struct Options {
    size_t batch_items = 1024;  // frames of a batch, at most
    size_t batches = 64;        // out at once, at most: twice what a graph has by default
    uint16_t link_type = 1;     // of all frames
    uint32_t snap_bytes = UINT32_MAX;
  };
  struct Filled {
    size_t packets = 0;
    uint64_t bytes = 0;
    std::atomic<uint32_t>* lease = nullptr;  // null without packets
  };

  // The queues must outlive it.
  LentBatches(std::vector<ReceiveQueue*> queues, const Options& options);
  // Takes all frames back: nobody may look at them any more.
  ~LentBatches();
  LentBatches(const LentBatches&) = delete;
  LentBatches& operator=(const LentBatches&) = delete;

  // Describes frames that wait, as many as there are and `packets` has room for; those that their device has not
  // stamped get `time_ns`. No packets: nothing waits, or starved().
  Filled fill(std::span<Packet> packets, int64_t time_ns) noexcept;
  // Gives back the frames of batches that nobody holds any more.
  void reclaim() noexcept;

  // After fill() has given nothing: is it because too much is out?
  bool starved() const noexcept;
  bool ended() const noexcept;    // no queue will give anything any more
  size_t depth() const noexcept;  // of all queues
  size_t batches_out() const noexcept { return out_.size(); }
  // From each queue, since the beginning.
  std::span<const ReceivedCount> received() const noexcept { return received_; }

 private:
  struct Run {  // handles of one queue, behind those of the run before
    size_t queue = 0, frames = 0;
  };
  struct Slot {
    std::atomic<uint32_t> lease{0};
    std::vector<uint64_t> handles;  // capacity: batch_items
    std::vector<Run> runs;          // capacity: a run for each queue
    JoinSpace joined;
  };

  ReceivedCount take_from(size_t queue, std::span<Packet> packets, int64_t time_ns, Slot& slot) noexcept;
  void give_back(Slot& slot) noexcept;

  const std::vector<ReceiveQueue*> queues_;
  const Options options_;
  LazyMemory memory_;              // where headers are joined
  std::unique_ptr<Slot[]> slots_;  // never moved: batches point to their leases
  std::vector<Slot*> free_, out_;  // capacity: all slots
  std::vector<LentFrame> frames_;  // of one call
  std::vector<ReceivedCount> received_;
  size_t next_queue_ = 0;
};

}  // namespace trama
