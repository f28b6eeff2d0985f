// One receive queue of a DPDK port, with the mbufs it receives into.
#pragma once
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "modules/support/packet_device.hpp"
#include "modules/support/segment_join.hpp"

namespace trama {

// Where an mbuf tells when its frame was received; without it the device doesn't tell.
struct MbufTime {
  int offset = -1;
  uint64_t flag = 0;        // of ol_flags: this one has it
  int64_t ns_per_unit = 1;  // since the epoch
};

struct DpdkQueueOptions {
  uint16_t port = 0, number = 0;
  uint16_t burst = 64;
  uint32_t descriptors = 0;
  uint32_t mbufs = 0;  // of its pool
  bool ends = false;   // it reads a file, whose end is there when it gives nothing
  std::optional<MbufTime> time;

  // Mbufs that are never lent: a device keeps its descriptors filled; a reader of files takes mbufs when it reads, and
  // loses the packet when there are too few.
  uint32_t kept() const { return ends ? kMostPieces * burst : descriptors; }
  // Fewer than these, and a queue could give nothing.
  uint32_t least_mbufs() const { return kept() + 2u * burst; }

 private:
  static constexpr uint32_t kMostPieces = 33;  // mbufs of the longest packet that a file may have
};

struct FreeMempool {
  void operator()(rte_mempool* pool) const { rte_mempool_free(pool); }
};
using Mempool = std::unique_ptr<rte_mempool, FreeMempool>;

class DpdkQueue final : public ReceiveQueue {
 public:
  explicit DpdkQueue(const DpdkQueueOptions& options);
  ~DpdkQueue() override;

  // After the port was started. False: this driver has no interrupts.
  bool watch_interrupts();
  // Gives back what it has received and nobody was shown. Before the port is closed.
  void clear() noexcept;

  size_t receive(std::span<LentFrame> frames, JoinSpace& space) noexcept override;
  void give_back(std::span<const uint64_t> handles) noexcept override;
  bool ended() const noexcept override { return ended_; }
  bool starved() const noexcept override { return lent_ + options_.burst > most_lent_; }
  size_t depth() const noexcept override { return ends_in_file_ ? 0 : options_.descriptors; }
  int wait_fd() const noexcept override { return events_; }
  void arm() noexcept override;

 private:
  static constexpr size_t kSegments = 256;  // of a frame; what lies in later ones is not looked at
  static constexpr size_t kTags = 2;        // that a device can have taken off a frame

  bool poll(size_t most) noexcept;
  void disarm() noexcept;
  bool show(rte_mbuf& mbuf, JoinSpace& space, LentFrame& frame) noexcept;
  void cut_into_segments(const rte_mbuf& mbuf, size_t tag_bytes) noexcept;

  const DpdkQueueOptions options_;
  const bool ends_in_file_;
  const size_t most_lent_;
  std::vector<rte_mbuf*> received_;  // of the last burst
  size_t next_ = 0, count_ = 0;      // of those, not shown yet
  size_t lent_ = 0;                  // mbufs' worth of frames out, and those not shown yet
  std::vector<Segment> segments_;
  uint8_t tags_[kTags * 4] = {};
  int events_ = -1;  // an epoll descriptor with the queue's interrupt
  bool armed_ = false, ended_ = false;
};

}  // namespace trama
