#include "modules/support/synthetic_traffic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace trama {
namespace {

constexpr uint32_t kSources = 1u << 17;
constexpr uint32_t kSourceNetworks = 8192;  // half of the sources live in one of these /24s
constexpr double kExponent = 1.1;
constexpr uint32_t kTelescope = 44u << 24;  // 44.0.0.0/8
constexpr uint32_t kHostsMask = (1u << 24) - 1;
constexpr uint64_t kOwnPeersPercent = 70;

uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

}  // namespace

SyntheticTraffic::SyntheticTraffic(TrafficModel model, uint64_t seed) : model_(model), state_(seed) {
  if (model == TrafficModel::uniform) return;
  std::vector<uint32_t> networks(kSourceNetworks);
  for (uint32_t& network : networks) network = static_cast<uint32_t>(next() >> 40) << 8;
  double sum = 0;
  for (uint32_t i = 0; i < kSources; ++i) {
    const uint64_t random = next();
    const uint32_t anywhere = static_cast<uint32_t>(random >> 32);
    const uint32_t neighbour =
        networks[random >> 8 & (kSourceNetworks - 1)] | static_cast<uint32_t>(random >> 40 & 255);
    sources_.push_back(random & 1 ? anywhere : neighbour);
    weight_below_.push_back(sum += std::pow(i + 1.0, -kExponent));
  }
}

uint64_t SyntheticTraffic::next() noexcept { return mix(state_ += 0x9E3779B97F4A7C15u); }

uint32_t SyntheticTraffic::draw_source() noexcept {
  const double at = static_cast<double>(next() >> 11) * 0x1p-53 * weight_below_.back();
  const auto found = std::lower_bound(weight_below_.begin(), weight_below_.end() - 1, at);
  return static_cast<uint32_t>(found - weight_below_.begin());
}

AddressPair SyntheticTraffic::draw() noexcept {
  const uint64_t random = next();
  if (model_ == TrafficModel::uniform) return {static_cast<uint32_t>(random >> 32), static_cast<uint32_t>(random)};
  const uint32_t source = draw_source();
  uint64_t host = random >> 32;
  if (model_ == TrafficModel::zipf && random % 100 < kOwnPeersPercent) {
    // Peer j of a source has half the packets of peer j - 1: trailing zeros of a random number are distributed so.
    const int peer = std::countr_zero(random >> 32 | 256);
    host = mix(uint64_t{source} << 8 | static_cast<uint64_t>(peer));
  }
  return {sources_[source], kTelescope | (static_cast<uint32_t>(host) & kHostsMask)};
}

}  // namespace trama
