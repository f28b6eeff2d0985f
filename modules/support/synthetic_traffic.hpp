// Address pairs drawn from a seed: what the synthetic source, the benchmarks and the tests call traffic.
#pragma once
#include <cstdint>
#include <vector>

namespace trama {

struct AddressPair {
  uint32_t source, destination;  // 1.2.3.4 is 0x01020304
};

enum class TrafficModel : uint8_t {
  uniform,  // any address to any other: the worst case, since nearly every packet is a link of its own
  zipf,     // 2^17 sources of Zipf weight (exponent 1.1), each mostly with a few peers of its own in one /8
  darknet,  // the same sources, each packet to another address of one /8, as a network telescope sees them
};

// The same model and seed give the same pairs on every machine whose C library rounds pow() alike.
class SyntheticTraffic {
 public:
  SyntheticTraffic(TrafficModel model, uint64_t seed);
  AddressPair draw() noexcept;

 private:
  uint64_t next() noexcept;  // SplitMix64 (Steele, Lea, Flood 2014)
  uint32_t draw_source() noexcept;

  TrafficModel model_;
  uint64_t state_;
  std::vector<uint32_t> sources_;
  std::vector<double> weight_below_;  // running sum of the weights, up to and with each source
};

}  // namespace trama
