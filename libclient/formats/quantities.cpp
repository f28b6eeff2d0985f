#include "libclient/formats/quantities.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "libclient/formats/matrix_sum.hpp"

namespace trama {
namespace {

constexpr unsigned kDigitBits = 11, kDigits = 3;
constexpr uint32_t kDigitMask = (1U << kDigitBits) - 1;

constexpr uint32_t digit_of(uint32_t column, unsigned digit) { return column >> digit * kDigitBits & kDigitMask; }

}  // namespace

template <class Count>
void QuantityCounter::Memory<Count>::reserve(size_t links) {
  if (entries.size() >= links) return;
  entries.resize(links);
  other.resize(links);
}

// Three passes of a radix sort, less those on digits that all entries share.
template <class Count>
std::span<const QuantityCounter::Entry<Count>> QuantityCounter::Memory<Count>::sort(size_t links) {
  std::array<std::array<uint32_t, kDigitMask + 1>, kDigits> places{};
  for (size_t i = 0; i < links; ++i) {
    for (unsigned digit = 0; digit < kDigits; ++digit) ++places[digit][digit_of(entries[i].column, digit)];
  }
  for (unsigned digit = 0; digit < kDigits && links > 0; ++digit) {
    auto& next = places[digit];
    if (next[digit_of(entries[0].column, digit)] == links) continue;
    uint32_t place = 0;
    for (uint32_t& first : next) place += std::exchange(first, place);
    for (size_t i = 0; i < links; ++i) other[next[digit_of(entries[i].column, digit)]++] = entries[i];
    std::swap(entries, other);
  }
  return {entries.data(), links};
}

QuantityCounter::QuantityCounter(size_t max_links) { narrow_.reserve(max_links); }

template <class Any, class Count>
Quantities QuantityCounter::count_any(const Any& matrix, Memory<Count>& memory) {
  Quantities q;
  q.n_links = matrix.links();
  q.n_sources = matrix.rows();
  memory.reserve(matrix.links());
  for (size_t row = 0; row < matrix.rows(); ++row) {
    const auto begin = static_cast<size_t>(matrix.start[row]), end = static_cast<size_t>(matrix.start[row + 1]);
    uint64_t packets = 0;
    for (size_t i = begin; i < end; ++i) {
      const Count count = matrix.count[i];
      memory.entries[i] = {matrix.column[i], count};
      packets = add_saturating(packets, count);
      q.max_packets = std::max<uint64_t>(q.max_packets, count);
    }
    q.n_packets = add_saturating(q.n_packets, packets);
    q.max_source_packets = std::max(q.max_source_packets, packets);
    q.max_fan_out = std::max<uint64_t>(q.max_fan_out, end - begin);
  }
  const auto by_column = memory.sort(matrix.links());
  for (size_t i = 0; i < by_column.size();) {
    const size_t begin = i;
    uint64_t packets = 0;
    do packets = add_saturating(packets, by_column[i].count);
    while (++i < by_column.size() && by_column[i].column == by_column[begin].column);
    ++q.n_destinations;
    q.max_destination_packets = std::max(q.max_destination_packets, packets);
    q.max_fan_in = std::max<uint64_t>(q.max_fan_in, i - begin);
  }
  return q;
}

Quantities QuantityCounter::count(const HyperCsr& matrix) { return count_any(matrix, narrow_); }
Quantities QuantityCounter::count(const Matrix& matrix) { return count_any(matrix, wide_); }

}  // namespace trama
