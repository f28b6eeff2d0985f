// What tests of the compact encoding share: writing and reading with buffers that end where they must, so that
// AddressSanitizer sees an access beyond.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "libclient/formats/compact.hpp"
#include "tests/libclient/matrices.hpp"

namespace trama::test {

using CompactBytes = std::vector<uint8_t>;

inline std::unique_ptr<uint32_t[]> exact_copy(const std::vector<uint32_t>& values) {
  std::unique_ptr<uint32_t[]> copy(new uint32_t[values.size()]);
  std::copy(values.begin(), values.end(), copy.get());
  return copy;
}

// Empty where the writer refuses.
inline CompactBytes write_exact(const WindowArrays& w, bool raw_order = false) {
  const auto row = exact_copy(w.row), start = exact_copy(w.start), column = exact_copy(w.column),
             count = exact_copy(w.count);
  const HyperCsr matrix{{row.get(), w.row.size()},
                        {start.get(), w.start.size()},
                        {column.get(), w.column.size()},
                        {count.get(), w.count.size()}};
  const size_t bound = compact_bound(matrix.links());
  const std::unique_ptr<uint8_t[]> out(new uint8_t[bound]);
  const size_t length = write_compact(matrix, raw_order, {out.get(), bound});
  return {out.get(), out.get() + length};
}

inline FormatExpected<CompactMatrix> read_exact(CompactReader& reader, const CompactBytes& bytes) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return reader.read({copy.get(), bytes.size()});  // the result doesn't point into the copy
}

inline WindowArrays arrays_of(const HyperCsr& m) {
  return {{m.row.begin(), m.row.end()},
          {m.start.begin(), m.start.end()},
          {m.column.begin(), m.column.end()},
          {m.count.begin(), m.count.end()}};
}

// Those of HyperCsr.
inline bool keeps_the_rules(const HyperCsr& m) {
  if (m.start.size() != m.rows() + 1 || m.start[0] != 0 || m.start.back() != m.links()) return false;
  if (m.count.size() != m.links()) return false;
  for (size_t i = 0; i < m.rows(); ++i) {
    if (m.start[i] >= m.start[i + 1] || (i > 0 && m.row[i] <= m.row[i - 1])) return false;
    for (size_t j = size_t{m.start[i]} + 1; j < m.start[i + 1]; ++j) {
      if (m.column[j] <= m.column[j - 1]) return false;
    }
  }
  return std::find(m.count.begin(), m.count.end(), 0U) == m.count.end();
}

// Where the fields of the header lie, as docs/formats.md says.
enum CompactOffset : size_t {
  kMagicAt = 0,
  kVersionAt = 4,
  kFlagsAt = 6,
  kBytesAt = 8,
  kPacketsAt = 16,
  kRowsAt = 24,
  kLinksAt = 28,
  kBaseAt = 32,
  kRowDataAt = 36,
  kColumnDataAt = 40,
  kCountDataAt = 44,
  kPartsAt = 48,
};

template <class T>
CompactBytes patched(CompactBytes bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

inline bool is_refused(const CompactBytes& bytes) {
  CompactReader reader;
  const auto read = read_exact(reader, bytes);
  return !read && !read.error().text.empty();
}

// An encoding put together by hand: whatever the parts are, their lengths are stated as they are.
struct CompactParts {
  uint16_t flags = 0;
  uint64_t packets = 0;
  uint32_t rows = 0, links = 0, base = 0;
  CompactBytes starts, row_codes, column_codes, count_codes, row_data, column_data, count_data;

  CompactBytes bytes() const {
    CompactHeader header;
    header.flags = flags;
    header.packets = packets;
    header.rows = rows;
    header.links = links;
    header.column_base = base;
    header.row_data = static_cast<uint32_t>(row_data.size());
    header.column_data = static_cast<uint32_t>(column_data.size());
    header.count_data = static_cast<uint32_t>(count_data.size());
    CompactBytes all(sizeof header);
    for (const CompactBytes* part :
         {&starts, &row_codes, &column_codes, &count_codes, &row_data, &column_data, &count_data}) {
      all.insert(all.end(), part->begin(), part->end());
    }
    header.bytes = all.size();
    std::memcpy(all.data(), &header, sizeof header);
    return all;
  }
};

// The example of docs/formats.md: rows 1 and 70000, columns 10 and 300 with 1 and 3 packets, column 10 with 1 packet.
inline CompactParts compact_example() {
  return {0, 5, 2, 3, 10, {0x05}, {0x08}, {0x04}, {0x04}, {1, 0x6E, 0x11, 0x01}, {0, 0x21, 0x01, 0}, {2}};
}

}  // namespace trama::test
