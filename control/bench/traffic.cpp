#include "control/bench/traffic.hpp"

#include <algorithm>
#include <iterator>

#include "modules/support/header_walk.hpp"

namespace trama {
namespace {

constexpr size_t kDistinctPackets = size_t{1} << 21;

void write_number(uint8_t* at, uint32_t number) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<uint8_t>(number >> (24 - 8 * i));
}

}  // namespace

TrafficPairs draw_pairs(TrafficModel model, size_t packets, uint64_t seed) {
  SyntheticTraffic traffic(model, seed);
  TrafficPairs pairs;
  pairs.source.reserve(packets);
  pairs.destination.reserve(packets);
  for (size_t i = 0; i < packets; ++i) {
    const AddressPair pair = traffic.draw();
    pairs.source.push_back(pair.source);
    pairs.destination.push_back(pair.destination);
  }
  return pairs;
}

const char* traffic_letter(TrafficModel model) {
  switch (model) {
    case TrafficModel::uniform: return "U";
    case TrafficModel::zipf: return "Z";
    case TrafficModel::darknet: return "D";
  }
  return "";
}

TrafficWindows::TrafficWindows(TrafficModel model, size_t window_packets, size_t windows)
    : window_packets_(window_packets),
      distinct_(std::clamp<size_t>(kDistinctPackets / window_packets, 1, windows)),
      pairs_(draw_pairs(model, distinct_ * window_packets)) {}

WindowView TrafficWindows::operator[](size_t window) const {
  const size_t first = window % distinct_ * window_packets_;
  return {pairs_.source.data() + first, pairs_.destination.data() + first, window_packets_};
}

Frames::Frames(Link link, const TrafficPairs& pairs)
    : link_(link), count_(pairs.source.size()), memory_(count_ * kBytes) {
  constexpr uint8_t kEthernet[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00};
  constexpr uint8_t kIpv4[] = {0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0};  // UDP, TTL 64, no checksum
  for (size_t i = 0; i < count_; ++i) {
    uint8_t* at = memory_.data() + i * kBytes;
    if (link == Link::ethernet) at = std::copy(std::begin(kEthernet), std::end(kEthernet), at);
    at = std::copy(std::begin(kIpv4), std::end(kIpv4), at);
    write_number(at, pairs.source[i]);
    write_number(at + 4, pairs.destination[i]);
  }
}

size_t Frames::walk_window(size_t first, size_t packets, uint32_t* source, uint32_t* destination) const {
  size_t counted = 0, at = first % count_;
  for (size_t i = 0; i < packets; ++i) {
    const Walked walked = walk(static_cast<uint16_t>(link_), memory_.data() + at * kBytes, kBytes);
    source[counted] = walked.source;
    destination[counted] = walked.destination;
    counted += walked.verdict == Verdict::counted;
    if (++at == count_) at = 0;
  }
  return counted;
}

}  // namespace trama
