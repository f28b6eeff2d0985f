#include "modules/support/packet_socket_ring.hpp"

#include <linux/if_packet.h>

#include <algorithm>

#include "modules/support/packet_socket_frame.hpp"

namespace trama {
namespace {

tpacket_hdr_v1& header_of(uint8_t* block) { return reinterpret_cast<tpacket_block_desc*>(block)->hdr.bh1; }

// The word by which user and kernel hand a block to each other.
std::atomic_ref<uint32_t> status_of(uint8_t* block) { return std::atomic_ref(header_of(block).block_status); }

}  // namespace

PacketSocketRing::PacketSocketRing(uint8_t* memory, size_t block_bytes, size_t blocks)
    : memory_(memory), block_bytes_(block_bytes), leases_(blocks) {}

bool PacketSocketRing::filled(size_t number) const noexcept {
  return out_ < leases_.size() && (status_of(block(number)).load(std::memory_order_acquire) & TP_STATUS_USER) != 0;
}

bool PacketSocketRing::open_next() noexcept {
  while (filled(next_)) {
    at_hand_ = next_;
    next_ = (next_ + 1) % leases_.size();
    ++out_;
    const tpacket_hdr_v1& header = header_of(block(at_hand_));
    left_ = header.num_pkts;
    frame_ = block(at_hand_) + header.offset_to_first_pkt;
    leases_[at_hand_].store(left_ > 0 ? 1 : 0, std::memory_order_relaxed);
    if (left_ > 0) return true;
  }
  return false;
}

size_t PacketSocketRing::read(std::span<Packet> packets, std::atomic<uint32_t>*& lease) noexcept {
  lease = nullptr;
  if (packets.empty() || ready() == 0) return 0;
  const auto count = static_cast<uint32_t>(std::min<size_t>(packets.size(), left_));
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t to_next = reinterpret_cast<const tpacket3_hdr*>(frame_)->tp_next_offset;
    if (left_ > 1) __builtin_prefetch(frame_ + to_next);
    packets[i] = packet_of(frame_);
    frame_ += to_next;
    --left_;
  }
  lease = &leases_[at_hand_];
  // While it is read the block has a share of its own; the last batch gets that one.
  if (left_ > 0) lease->fetch_add(1, std::memory_order_relaxed);
  return count;
}

void PacketSocketRing::give_back() noexcept {
  while (out_ > 0) {
    const size_t oldest = (next_ + leases_.size() - out_) % leases_.size();
    if (leases_[oldest].load(std::memory_order_acquire) != 0) return;
    status_of(block(oldest)).store(TP_STATUS_KERNEL, std::memory_order_release);
    --out_;
  }
}

}  // namespace trama
