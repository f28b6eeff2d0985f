#include "modules/support/pcapng_clock.hpp"

#include <algorithm>

namespace trama {
namespace {

constexpr uint64_t kBillion = 1'000'000'000;

__extension__ using Wide = __int128;

int64_t saturated(Wide value) {
  constexpr Wide kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::clamp(value, kLeast, kMost));
}

uint64_t power_of_ten(unsigned exponent) {
  uint64_t power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

}  // namespace

PcapngClock::PcapngClock(uint8_t resolution, int64_t offset_s)
    : rule_(resolution & 0x80 ? Rule::shift
            : resolution <= 9 ? Rule::multiply
                              : Rule::divide),
      exponent_(resolution & 0x7f),
      offset_s_(offset_s) {
  if (rule_ == Rule::multiply) factor_ = power_of_ten(9u - exponent_);
  // 10^19 is the greatest power in 64 bits; a unit still smaller than 10^-28 s leaves nothing of any time.
  if (rule_ == Rule::divide) factor_ = power_of_ten(std::min(exponent_ - 9u, 19u));
  const Wide offset_ns = Wide{offset_s} * kBillion;
  if (rule_ == Rule::multiply && offset_ns == saturated(offset_ns)) {
    near_factor_ = factor_;
    near_offset_ns_ = saturated(offset_ns);
  }
}

int64_t PcapngClock::far_time_ns(uint64_t units) const {
  Wide time = 0;
  switch (rule_) {
    case Rule::multiply: time = Wide{units} * factor_; break;
    case Rule::divide: time = exponent_ > 28 ? 0 : units / factor_; break;
    case Rule::shift: time = exponent_ > 94 ? 0 : Wide{units} * kBillion >> exponent_; break;
  }
  return saturated(time + Wide{offset_s_} * kBillion);
}

}  // namespace trama
