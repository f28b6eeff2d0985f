// Times of pcapng packets (draft-ietf-opsawg-pcapng, if_tsresol and if_tsoffset), in nanoseconds since the epoch.
#pragma once
#include <cstdint>
#include <limits>

namespace trama {

// What a pcapng interface says of its packets' times: units of 10^-n or 2^-n seconds since an offset.
class PcapngClock {
 public:
  PcapngClock() : PcapngClock(6, 0) {}
  // `resolution` as if_tsresol: the exponent, with the top bit set for powers of two. `offset_s` as if_tsoffset.
  PcapngClock(uint8_t resolution, int64_t offset_s);
  // Rounded down to nanoseconds, as close as int64_t comes.
  int64_t time_ns(uint64_t units) const {
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
    uint64_t product;
    int64_t time;
    if (near_factor_ != 0 && !__builtin_mul_overflow(units, near_factor_, &product) && product <= kMost &&
        !__builtin_add_overflow(static_cast<int64_t>(product), near_offset_ns_, &time)) [[likely]] {
      return time;
    }
    return far_time_ns(units);
  }

 private:
  enum class Rule : uint8_t { multiply, divide, shift };
  int64_t far_time_ns(uint64_t units) const;

  uint64_t near_factor_ = 0;  // 0: every time needs far_time_ns()
  int64_t near_offset_ns_ = 0;
  Rule rule_;
  uint8_t exponent_;
  uint64_t factor_ = 1;
  int64_t offset_s_;
};

}  // namespace trama
