// The bones of a plain ustar archive, judged strictly: what a tar reader forgives, this names.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libclient/formats/tar_writer.hpp"

namespace trama {

struct TarEntry {
  std::string name;
  uint64_t header_offset = 0;
  uint64_t bytes = 0;
  uint64_t content_offset() const { return header_offset + kTarBlockBytes; }
  uint64_t next_offset() const {
    return content_offset() + (bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
  }
};

// A header that make_tar_header could have written, whatever its name, size and time; anything else is nothing.
std::optional<TarEntry> read_plain_header(std::span<const uint8_t, kTarBlockBytes> block, uint64_t offset);

struct TarLayout {
  std::vector<TarEntry> entries;      // whole ones
  std::vector<std::string> problems;  // where the archive departs from the rules; empty if nowhere
};

// Walks an open archive of `file_bytes` bytes: plain headers one after the other, zeros as padding, two blocks of zeros
// at the end and only zeros behind. Stops at the first header that isn't plain.
TarLayout read_tar_layout(int descriptor, uint64_t file_bytes);

}  // namespace trama
