// The network quantities of a traffic matrix, as the published analysis scripts define and name them (stats.tsv).
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "libclient/formats/matrix.hpp"

namespace trama {

struct Quantities {
  uint64_t n_packets = 0;                // sum of all entries
  uint64_t n_links = 0;                  // entries
  uint64_t n_sources = 0;                // rows with entries
  uint64_t n_destinations = 0;           // columns with entries
  uint64_t max_packets = 0;              // of one link
  uint64_t max_source_packets = 0;       // of one row
  uint64_t max_destination_packets = 0;  // of one column
  uint64_t max_fan_out = 0;              // most links of a row
  uint64_t max_fan_in = 0;               // most links of a column
  bool operator==(const Quantities&) const = default;
};

// Keeps its working memory for the next matrix. Up to 2^32 - 1 links; sums stop at 2^64 - 1.
class QuantityCounter {
 public:
  // Windows of up to max_links links are then counted without taking memory (16 bytes a link are held).
  explicit QuantityCounter(size_t max_links = 0);
  Quantities count(const HyperCsr& matrix);
  Quantities count(const Matrix& matrix);

 private:
  template <class Count>
  struct Entry {
    uint32_t column;
    Count count;
  };
  // What is sorted by column, and where it is moved to and fro.
  template <class Count>
  struct Memory {
    std::vector<Entry<Count>> entries, other;
    void reserve(size_t links);
    std::span<const Entry<Count>> sort(size_t links);
  };
  template <class Any, class Count>
  static Quantities count_any(const Any& matrix, Memory<Count>& memory);
  Memory<uint32_t> narrow_;
  Memory<uint64_t> wide_;
};

inline Quantities quantities(const Matrix& matrix) { return QuantityCounter().count(matrix); }

}  // namespace trama
