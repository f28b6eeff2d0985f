#include "libclient/formats/tar_layout.hpp"

#include <algorithm>
#include <array>

#include "libclient/formats/file_bytes.hpp"

namespace trama {
namespace {

constexpr size_t kNameBytes = 100, kSizeAt = 124, kTimeAt = 136, kOctalDigits = 11;

bool all_zero(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

std::optional<uint64_t> octal(std::span<const uint8_t> digits) {
  uint64_t value = 0;
  for (const uint8_t digit : digits) {
    if (digit < '0' || digit > '7') return std::nullopt;
    value = value << 3 | (digit - uint64_t{'0'});
  }
  return value;
}

// Only zeros from here to the end of the file?
bool zeros_to_the_end(int descriptor, uint64_t offset, uint64_t file_bytes) {
  std::vector<uint8_t> piece(size_t{64} << 10);
  while (offset < file_bytes) {
    const auto step = static_cast<size_t>(std::min<uint64_t>(piece.size(), file_bytes - offset));
    if (!read_at(descriptor, offset, std::span(piece).first(step)) || !all_zero(std::span(piece).first(step)))
      return false;
    offset += step;
  }
  return true;
}

}  // namespace

std::optional<TarEntry> read_plain_header(std::span<const uint8_t, kTarBlockBytes> block, uint64_t offset) {
  const auto name_end = std::find(block.begin(), block.begin() + kNameBytes, uint8_t{0});
  TarEntry entry;
  entry.name.assign(block.begin(), name_end);
  entry.header_offset = offset;
  const auto bytes = octal(block.subspan(kSizeAt, kOctalDigits)), time_s = octal(block.subspan(kTimeAt, kOctalDigits));
  if (!bytes || !time_s) return std::nullopt;
  entry.bytes = *bytes;
  // There is one way to write each header, so what is written anew must be what was read.
  const auto again = make_tar_header(entry.name, *bytes, static_cast<int64_t>(*time_s));
  if (!again || !std::equal(block.begin(), block.end(), again->block.begin())) return std::nullopt;
  return entry;
}

TarLayout read_tar_layout(int descriptor, uint64_t file_bytes) {
  TarLayout layout;
  std::array<uint8_t, kTarBlockBytes> block{};
  uint64_t offset = 0;
  for (;;) {
    if (offset == file_bytes) {
      layout.problems.emplace_back("the end blocks are missing");
      return layout;
    }
    if (file_bytes - offset < block.size() || !read_at(descriptor, offset, block)) {
      layout.problems.emplace_back("cut within a header");
      return layout;
    }
    if (all_zero(block)) break;
    const auto entry = read_plain_header(block, offset);
    if (!entry) {
      layout.problems.push_back("no plain ustar header at byte " + std::to_string(offset));
      return layout;
    }
    if (entry->bytes > file_bytes - entry->content_offset()) {
      layout.problems.push_back("cut within member " + entry->name);
      return layout;
    }
    layout.entries.push_back(*entry);
    const uint64_t content_end = entry->content_offset() + entry->bytes;
    offset = entry->next_offset();
    if (offset > file_bytes) {
      layout.problems.push_back("cut behind member " + entry->name);
      return layout;
    }
    if (!zeros_to_the_end(descriptor, content_end, offset)) {
      layout.problems.push_back("the padding of member " + entry->name + " is not zero");
    }
  }
  if (file_bytes - offset < kTarEnd.size()) layout.problems.emplace_back("the end blocks are cut");
  if (!zeros_to_the_end(descriptor, offset, file_bytes))
    layout.problems.emplace_back("something follows the end blocks");
  return layout;
}

}  // namespace trama
