// Matrices for tests of formats: windows of random packets in the engine's form, and the same as readers give them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "libclient/formats/matrix.hpp"

namespace trama::test {

struct WindowArrays {
  std::vector<uint32_t> row, start{0}, column, count;
  HyperCsr view() const { return {row, start, column, count}; }
  Matrix matrix() const { return {row, {start.begin(), start.end()}, column, {count.begin(), count.end()}}; }
};

inline WindowArrays window_of(std::vector<std::pair<uint32_t, uint32_t>> packets) {
  std::sort(packets.begin(), packets.end());
  WindowArrays w;
  for (size_t i = 0; i < packets.size(); ++i) {
    if (i > 0 && packets[i] == packets[i - 1]) {
      ++w.count.back();
      continue;
    }
    if (i == 0 || packets[i].first != packets[i - 1].first) {
      w.row.push_back(packets[i].first);
      w.start.push_back(w.start.back());
    }
    w.column.push_back(packets[i].second);
    w.count.push_back(1);
    ++w.start.back();
  }
  return w;
}

// What addresses look like: any pair, or few sources and destinations with many packets, or the ends of the range.
enum class Traffic { uniform, skewed, edges };

inline WindowArrays random_window(std::mt19937_64& random, size_t packets, Traffic traffic) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs(packets);
  for (auto& [source, destination] : pairs) {
    const auto a = static_cast<uint32_t>(random()), b = static_cast<uint32_t>(random());
    switch (traffic) {
      case Traffic::uniform: source = a, destination = b; break;
      case Traffic::skewed:
        source = 0x0a000000U | (1U << (a % 16)) | (a >> 28);
        destination = 0xc6000000U | (b % (1U + (b >> 20)));
        break;
      case Traffic::edges:
        source = (a % 2 != 0 ? 0xffffffffU : 0) - a % 3 / 2;
        destination = (b % 2 != 0 ? 0xffffffffU : 0) - b % 5 / 4;
        break;
    }
  }
  return window_of(std::move(pairs));
}

}  // namespace trama::test
