// Random numbers of a seed.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <random>

#include "tests/support/packet_builder.hpp"

namespace trama::test {

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  uint64_t any() { return engine_(); }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(engine_() % limit); }
  uint32_t between(uint32_t least, uint32_t most) { return least + below(most - least + 1); }
  bool one_in(uint32_t n) { return below(n) == 0; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<uint32_t>(values.size()))];
  }
  uint8_t byte() { return static_cast<uint8_t>(engine_()); }
  uint16_t number16() { return static_cast<uint16_t>(engine_()); }
  uint32_t number32() { return static_cast<uint32_t>(engine_()); }
  PacketBytes bytes(size_t count) {
    PacketBytes all(count);
    for (uint8_t& one : all) one = byte();
    return all;
  }
  ByteOrder order() { return one_in(2) ? ByteOrder::big : ByteOrder::little; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace trama::test
