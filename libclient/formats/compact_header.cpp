#include "libclient/formats/compact_header.hpp"

#include <cstring>

namespace trama {

FormatExpected<CompactHeader> read_compact_header(std::span<const uint8_t> bytes) {
  CompactHeader header;
  if (bytes.size() < sizeof header) return format_failure("not a compact matrix: shorter than its header");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kCompactMagic) return format_failure("not a compact matrix: it begins with other bytes");
  if (header.version != kCompactVersion) {
    return format_failure("a compact matrix of version " + std::to_string(header.version) + ", where only version " +
                              std::to_string(kCompactVersion) + " is known",
                          "read it with the program that wrote it, or with a later one");
  }
  if ((header.flags & ~(kCompactRawOrder | kCompactAllOnes)) != 0) {
    return format_failure("a compact matrix with flags that are not known",
                          "read it with the program that wrote it, or with a later one");
  }
  if (header.bytes != bytes.size()) {
    return format_failure("a compact matrix that is " + std::to_string(header.bytes) + " bytes long, of which " +
                          std::to_string(bytes.size()) + " are given");
  }
  if (header.links > kCompactFormatLinks || header.rows > header.links || (header.rows == 0) != (header.links == 0)) {
    return format_failure("damaged compact matrix: impossible numbers of rows and links");
  }
  if (header.links == 0 && header.column_base != 0) {
    return format_failure("damaged compact matrix: a least column, and no columns");
  }
  if (header.packets < header.links || (header.all_ones() && header.packets != header.links)) {
    return format_failure("damaged compact matrix: its packets don't fit its links");
  }
  if (CompactLayout(header).end != bytes.size() || (header.all_ones() && header.count_data != 0)) {
    return format_failure("damaged compact matrix: the lengths of its parts don't add up");
  }
  return header;
}

}  // namespace trama
