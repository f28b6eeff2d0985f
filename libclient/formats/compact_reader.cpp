// The reading half of compact.hpp: memory and errors; compact_decoder.cpp has the loops.
#include <new>

#include "libclient/formats/compact.hpp"
#include "libclient/formats/compact_decoder.hpp"

namespace trama {
namespace {

const char* text_of(CompactFault fault) {
  switch (fault) {
    case CompactFault::none: break;
    case CompactFault::row_starts: return "damaged compact matrix: the starts of its rows don't fit its rows and links";
    case CompactFault::row_codes: return "damaged compact matrix: rows whose codes and data don't fit";
    case CompactFault::row_range: return "damaged compact matrix: a row beyond 32 bits";
    case CompactFault::column_codes: return "damaged compact matrix: columns whose codes and data don't fit";
    case CompactFault::column_range: return "damaged compact matrix: a column beyond 32 bits";
    case CompactFault::count_codes: return "damaged compact matrix: counts whose codes and data don't fit";
    case CompactFault::counts: return "damaged compact matrix: counts beyond 32 bits, or with another sum than stated";
  }
  return "";
}

}  // namespace

bool CompactReader::make_room(size_t links) {
  if (memory_ && links <= capacity_) return true;
  memory_.reset();
  capacity_ = 0;
  memory_.reset(new (std::nothrow) uint32_t[4 * (links + kCompactSlack)]);
  if (!memory_) return false;
  capacity_ = links;
  return true;
}

FormatExpected<CompactMatrix> CompactReader::read(std::span<const uint8_t> bytes) {
  const auto header = read_compact_header(bytes);
  if (!header) return tl::unexpected(header.error());
  if (header->links > max_links_) {
    return format_failure("the matrix has more links than this reader takes (" + std::to_string(max_links_) + ")");
  }
  if (!make_room(header->links)) return format_failure("not enough memory for the matrix");

  const size_t step = capacity_ + kCompactSlack, rows = header->rows, links = header->links;
  uint32_t* const memory = memory_.get();
  const CompactArrays arrays{memory, memory + step, memory + 2 * step, memory + 3 * step};
  const CompactFault fault = decode_compact(*header, bytes.data(), arrays);
  if (fault != CompactFault::none) return format_failure(text_of(fault));
  return CompactMatrix{{{arrays.row, rows}, {arrays.start, rows + 1}, {arrays.column, links}, {arrays.count, links}},
                       header->packets,
                       (header->flags & kCompactRawOrder) != 0};
}

FormatExpected<Matrix> read_compact(std::span<const uint8_t> bytes, uint64_t max_links) try {
  CompactReader reader(max_links);
  const auto read = reader.read(bytes);
  if (!read) return tl::unexpected(read.error());
  const HyperCsr& from = read->matrix;
  Matrix matrix;
  matrix.row.assign(from.row.begin(), from.row.end());
  matrix.start.assign(from.start.begin(), from.start.end());
  matrix.column.assign(from.column.begin(), from.column.end());
  matrix.count.assign(from.count.begin(), from.count.end());
  return matrix;
} catch (const std::bad_alloc&) {
  return format_failure("not enough memory for the matrix");
}

}  // namespace trama
