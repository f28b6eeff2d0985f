#include "libclient/formats/blob_arrays.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace trama {
namespace {

constexpr uint64_t kIndices32 = uint64_t{1} << 32;

// An array of 32-bit or 64-bit values at any address.
class Numbers {
 public:
  Numbers(std::span<const uint8_t> bytes, bool are_32) : bytes_(bytes), are_32_(are_32) {}
  size_t size() const { return bytes_.size() / (are_32_ ? 4 : 8); }
  uint64_t operator[](size_t i) const { return are_32_ ? load<uint32_t>(i) : load<uint64_t>(i); }

 private:
  template <class T>
  T load(size_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + i * sizeof value, sizeof value);
    return value;
  }
  std::span<const uint8_t> bytes_;
  bool are_32_;
};

template <class T>
FormatExpected<void> convert_counts(std::span<const uint8_t> bytes, std::vector<uint64_t>& counts) {
  const bool iso = bytes.size() == sizeof(T);
  for (size_t i = 0; i < counts.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + (iso ? 0 : i * sizeof value), sizeof value);
    if (value <= 0) {
      return format_failure(value < 0 ? "the matrix holds a negative value" : "the matrix holds an entry of 0 packets",
                            "a traffic matrix counts packets: keep entries above 0 only");
    }
    counts[i] = static_cast<uint64_t>(value);
  }
  return {};
}

FormatExpected<void> read_counts(uint32_t type, std::span<const uint8_t> bytes, std::vector<uint64_t>& counts) {
  switch (type) {
    case 1:  // bool, stored as a byte
    case 3: return convert_counts<uint8_t>(bytes, counts);
    case 2: return convert_counts<int8_t>(bytes, counts);
    case 4: return convert_counts<int16_t>(bytes, counts);
    case 5: return convert_counts<uint16_t>(bytes, counts);
    case 6: return convert_counts<int32_t>(bytes, counts);
    case 7: return convert_counts<uint32_t>(bytes, counts);
    case 8: return convert_counts<int64_t>(bytes, counts);
    default: return convert_counts<uint64_t>(bytes, counts);
  }
}

uint64_t entries_of(const BlobHeader& header) {
  return header.array_bytes[kIndices] / (header.indices_are_32() ? 4 : 8);
}

}  // namespace

FormatExpected<void> check_starts(const BlobHeader& header, std::span<const uint8_t> bytes) {
  const Numbers starts(bytes, header.starts_are_32());
  const auto vectors = static_cast<size_t>(header.vectors);
  if (starts[0] != 0 || starts[vectors] != entries_of(header))
    return format_failure("damaged blob: starts don't span the entries");
  for (size_t i = 0; i < vectors; ++i)
    if (starts[i + 1] < starts[i]) return format_failure("damaged blob: starts go backwards");
  return {};
}

FormatExpected<void> take_rows(const BlobHeader& header, std::span<const uint8_t> start_bytes,
                               std::span<const uint8_t> vector_bytes, Matrix& matrix) {
  if (header.hypersparse() && vector_bytes.size() != header.array_bytes[kVectors])
    return format_failure("damaged blob: the numbers of the rows are missing");
  const Numbers starts(start_bytes, header.starts_are_32()), numbers(vector_bytes, header.vectors_are_32());
  const auto most = static_cast<size_t>(std::min(header.vectors, entries_of(header)));
  matrix.row.reserve(most);
  matrix.start.reserve(most + 1);
  uint64_t least = 0;
  for (size_t i = 0; i < header.vectors; ++i) {
    const uint64_t number = header.hypersparse() ? numbers[i] : i;
    if (number < least || number >= header.vectors_max) {
      return format_failure("damaged blob: rows are not ascending or outside the matrix");
    }
    least = number + 1;
    if (starts[i + 1] == starts[i]) continue;
    if (number >= kIndices32) return format_failure("an index of the matrix needs more than 32 bits");
    matrix.row.push_back(static_cast<uint32_t>(number));
    matrix.start.push_back(starts[i + 1]);
  }
  return {};
}

FormatExpected<void> take_columns(const BlobHeader& header, std::span<const uint8_t> bytes, Matrix& matrix) {
  const Numbers indices(bytes, header.indices_are_32());
  matrix.column.resize(indices.size());
  for (size_t row = 0; row < matrix.rows(); ++row) {
    uint64_t least = 0;
    for (uint64_t i = matrix.start[row]; i < matrix.start[row + 1]; ++i) {
      const uint64_t index = indices[static_cast<size_t>(i)];
      if (index < least || index >= header.vector_length) {
        return format_failure("damaged blob: indices are not ascending or outside the matrix");
      }
      if (index >= kIndices32) return format_failure("an index of the matrix needs more than 32 bits");
      least = index + 1;
      matrix.column[static_cast<size_t>(i)] = static_cast<uint32_t>(index);
    }
  }
  return {};
}

FormatExpected<void> take_counts(const BlobHeader& header, std::span<const uint8_t> values, Matrix& matrix) {
  matrix.count.resize(matrix.links());
  return read_counts(header.type(), values, matrix.count);
}

Matrix transposed(const Matrix& from) {
  std::vector<std::pair<uint64_t, uint64_t>> entries;  // (row, column) in one key, count
  entries.reserve(from.links());
  for (size_t i = 0; i < from.rows(); ++i) {
    for (uint64_t at = from.start[i]; at < from.start[i + 1]; ++at) {
      const auto entry = static_cast<size_t>(at);
      entries.emplace_back(uint64_t{from.column[entry]} << 32 | from.row[i], from.count[entry]);
    }
  }
  std::sort(entries.begin(), entries.end());
  Matrix to;
  to.column.reserve(entries.size());
  to.count.reserve(entries.size());
  for (const auto& [key, count] : entries) {
    const auto row = static_cast<uint32_t>(key >> 32);
    if (to.row.empty() || to.row.back() != row) {
      to.row.push_back(row);
      to.start.push_back(to.links());
    }
    to.column.push_back(static_cast<uint32_t>(key));
    to.count.push_back(count);
    to.start.back() = to.links();
  }
  return to;
}

}  // namespace trama
