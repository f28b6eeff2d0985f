// The user's side of a TPACKET_V3 receive ring: takes blocks that the kernel has filled, hands out their packets where
// they lie, and gives blocks back when nobody looks at them any more.
//
//   ring.give_back();
//   size_t count = ring.read(batch.packets, batch.lease);   // PacketBatch::let_go() counts the lease down
//
// The kernel fills blocks in their order, over and over again, and loses packets when the next one is not its own.
// Knows nothing of sockets: any memory of this form will do. One thread at a time; leases are let go by any thread.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "modules/support/packet.hpp"

namespace trama {

class PacketSocketRing {
 public:
  // `blocks` blocks of `block_bytes` bytes, one after the other; they must outlive it.
  PacketSocketRing(uint8_t* memory, size_t block_bytes, size_t blocks);

  // So many packets read() has to give, if asked for as many.
  size_t ready() noexcept { return left_ > 0 || open_next() ? left_ : 0; }
  // Packets of one block, in their order, as many as are ready() and `packets` has room for; never of two blocks, since
  // a lease is one block's. Counts the lease up by one for the caller. 0: nothing to read, and no lease.
  size_t read(std::span<Packet> packets, std::atomic<uint32_t>*& lease) noexcept;
  // Gives blocks that have been read to their end, and were let go, back to the kernel.
  void give_back() noexcept;

  size_t blocks() const noexcept { return leases_.size(); }
  size_t blocks_out() const noexcept { return out_; }

 private:
  uint8_t* block(size_t number) const noexcept { return memory_ + number * block_bytes_; }
  bool filled(size_t number) const noexcept;
  bool open_next() noexcept;

  uint8_t* const memory_;
  const size_t block_bytes_;
  std::vector<std::atomic<uint32_t>> leases_;  // of each block: batches that point into it, and one while it is read
  size_t next_ = 0;                            // block to open next
  size_t out_ = 0;                             // blocks in front of it that the kernel doesn't have back
  size_t at_hand_ = 0;                         // block that is being read
  uint8_t* frame_ = nullptr;                   // next one in it
  uint32_t left_ = 0;                          // packets left in it
};

}  // namespace trama
