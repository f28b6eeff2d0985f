// How many packets the replicas of a source may still hand on (`packets`, --packets N): together exactly N, unless the
// input ends before.
//
//   const uint64_t room = quota.reserve(batch.packets.size());
//   if (room == 0) return quota.used_up() ? Step::end : Step::idle;
//   quota.settle(room, received);
//
// A reservation may come back unused. So a replica that gets none must not end: only when as many as are wanted have
// been handed on, by whomever, is it over.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

namespace trama {

class PacketQuota {
 public:
  explicit PacketQuota(uint64_t packets) : wanted_(packets == 0 ? kNoEnd : packets), left_(wanted_) {}

  // --- any thread.
  // At most `most`; 0: none is left, or others have reserved what is.
  uint64_t reserve(uint64_t most) noexcept {
    if (wanted_ == kNoEnd) return most;
    uint64_t left = left_.load(std::memory_order_relaxed);
    uint64_t reserved;
    do {
      reserved = std::min(left, most);
    } while (reserved > 0 && !left_.compare_exchange_weak(left, left - reserved, std::memory_order_relaxed));
    return reserved;
  }
  // Of `reserved` packets, `used` have come.
  void settle(uint64_t reserved, uint64_t used) noexcept {
    if (wanted_ == kNoEnd) return;
    if (used < reserved) left_.fetch_add(reserved - used, std::memory_order_relaxed);
    used_.fetch_add(used, std::memory_order_relaxed);
  }
  // All have come. Stays so.
  bool used_up() const noexcept { return used_.load(std::memory_order_relaxed) == wanted_; }

 private:
  static constexpr uint64_t kNoEnd = UINT64_MAX;
  const uint64_t wanted_;
  std::atomic<uint64_t> left_;     // neither reserved nor used
  std::atomic<uint64_t> used_{0};  // never more than wanted_
};

}  // namespace trama
