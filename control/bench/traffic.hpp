// What is measured on: made address pairs, and packets that carry them. The same on every run and machine.
//
//   U  uniform: every packet another random pair, the worst case for every step
//   Z  zipf: heavy-tailed; 2^17 packets have about 22,000 sources, and 64,000 links into one /8
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "modules/support/synthetic_traffic.hpp"

namespace trama {

struct TrafficPairs {
  std::vector<uint32_t> source, destination;  // of equal length
};
TrafficPairs draw_pairs(TrafficModel model, size_t packets, uint64_t seed = 1);

// "U" or "Z"; "D" for darknet.
const char* traffic_letter(TrafficModel model);

// The pairs of one window; they belong to somebody else.
struct WindowView {
  const uint32_t* source = nullptr;
  const uint32_t* destination = nullptr;
  size_t packets = 0;
};

// As many different windows as 2^21 packets make, at least one and at most `windows`: used in turn, so that no branch
// predictor learns one by heart, and that caches don't hold them all.
class TrafficWindows {
 public:
  TrafficWindows(TrafficModel model, size_t window_packets, size_t windows);
  WindowView operator[](size_t window) const;  // any number
  size_t distinct() const { return distinct_; }
  size_t window_packets() const { return window_packets_; }
  const TrafficPairs& pairs() const { return pairs_; }

 private:
  size_t window_packets_, distinct_;
  TrafficPairs pairs_;
};

// Packets of 64 captured bytes, one behind the other, as a network card leaves them in memory.
class Frames {
 public:
  static constexpr size_t kBytes = 64;
  enum class Link : uint16_t { ethernet = 1, raw_ip = 101 };  // LINKTYPE_

  Frames(Link link, const TrafficPairs& pairs);
  size_t count() const { return count_; }

  // Walks the headers of `packets` packets, from number `first` on and over again from 0 when there are no more, and
  // keeps their addresses. Returns how many were counted, which is all of them.
  size_t walk_window(size_t first, size_t packets, uint32_t* source, uint32_t* destination) const;

 private:
  Link link_;
  size_t count_;
  std::vector<uint8_t> memory_;
};

}  // namespace trama
