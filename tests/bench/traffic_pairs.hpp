// Two kinds of (source, destination) pairs that benchmarks are measured on, the same on every run.
//
// * uniform: both addresses evenly spread; nothing repeats, the worst case for every step.
// * skewed: like a network telescope. Sources follow a power law and half of them lie in common /24s; destinations lie
//   in one /8, and seven packets in ten go to one of the source's few favourites. 2^17 packets have about 22,000
//   sources and 64,000 links.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "control/bench/traffic.hpp"

namespace trama {

inline TrafficPairs uniform_pairs(size_t n, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  TrafficPairs pairs;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bits = random();
    pairs.source.push_back(static_cast<uint32_t>(bits >> 32));
    pairs.destination.push_back(static_cast<uint32_t>(bits));
  }
  return pairs;
}

// The destination that `source` likes: favourite 0 half of the time, favourite 1 a quarter, and so on.
inline uint32_t favourite_in_slash_8(uint32_t source, uint64_t bits) {
  const auto favourite = static_cast<uint64_t>(__builtin_ctzll(bits | 0x100));
  uint64_t hash = (uint64_t{source} << 4 | favourite) * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 32;
  return static_cast<uint32_t>(hash * 0xD6E8FEB86659FD93u >> 40);
}

inline TrafficPairs skewed_pairs(size_t n, uint64_t seed = 1) {
  constexpr size_t kSources = size_t{1} << 17;
  constexpr size_t kCommonNets = 8192;
  constexpr double kExponent = 1.1;
  constexpr uint32_t kSlash8 = 0x2C000000;
  std::mt19937_64 random(seed);
  std::vector<uint32_t> nets(kCommonNets);
  for (uint32_t& net : nets) net = static_cast<uint32_t>(random()) & ~0xFFu;

  std::vector<uint32_t> address(kSources);
  std::vector<double> cumulated(kSources);
  double weight = 0;
  for (size_t rank = 0; rank < kSources; ++rank) {
    const uint64_t bits = random();
    const auto anywhere = static_cast<uint32_t>(bits >> 32);
    address[rank] = (bits & 1) != 0 ? anywhere : nets[(bits >> 8) % kCommonNets] | (anywhere & 0xFF);
    weight += std::pow(static_cast<double>(rank + 1), -kExponent);
    cumulated[rank] = weight;
  }

  std::uniform_real_distribution<double> draw(0, weight);
  TrafficPairs pairs;
  for (size_t i = 0; i < n; ++i) {
    const auto place = std::lower_bound(cumulated.begin(), cumulated.end() - 1, draw(random)) - cumulated.begin();
    const uint32_t source = address[static_cast<size_t>(place)];
    const uint64_t bits = random();
    const bool repeats = bits % 10 < 7;
    const uint32_t host = repeats ? favourite_in_slash_8(source, bits >> 8) : static_cast<uint32_t>(bits >> 40);
    pairs.source.push_back(source);
    pairs.destination.push_back(kSlash8 | host);
  }
  return pairs;
}

}  // namespace trama
