// A counter of somebody else's (a driver's, the kernel's) that only grows, read now and then.
#pragma once
#include <cstdint>

namespace trama {

class GrowingCounter {
 public:
  // What it stood at when counting began.
  explicit GrowingCounter(uint64_t now = 0) : last_(now) {}

  // How much it has grown since the reading before. A counter that stands lower than before has wrapped, if it was a
  // 32-bit one near its end and has just begun anew, or was set back to zero: then all that it shows has come since.
  uint64_t grown_to(uint64_t now) {
    const uint64_t before = last_;
    last_ = now;
    if (now >= before) return now - before;
    const bool wrapped = before <= UINT32_MAX && before >= kLastQuarter && now < kFirstQuarter;
    return wrapped ? now + (uint64_t{1} << 32) - before : now;
  }

 private:
  static constexpr uint64_t kFirstQuarter = uint64_t{1} << 30, kLastQuarter = 3 * kFirstQuarter;
  uint64_t last_;
};

}  // namespace trama
