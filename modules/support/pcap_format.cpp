#include "modules/support/pcap_format.hpp"

#include <algorithm>
#include <utility>

namespace trama {
namespace {

constexpr uint32_t kMicroMagic = 0xa1b2c3d4;
constexpr uint32_t kNanoMagic = 0xa1b23c4d;
constexpr uint32_t kModifiedMagic = 0xa1b2cd34;
constexpr size_t kFileHeaderBytes = 24;

bool is_magic(uint32_t value) { return value == kMicroMagic || value == kNanoMagic || value == kModifiedMagic; }

}  // namespace

bool PcapFormat::knows(uint32_t magic) { return is_magic(magic) || is_magic(__builtin_bswap32(magic)); }

bool PcapFormat::read_file_header(const uint8_t* at) {
  uint32_t magic = load_unaligned<uint32_t>(at, false);
  swapped_ = !is_magic(magic);
  if (swapped_) magic = __builtin_bswap32(magic);
  const auto load16 = [&](size_t offset) { return load_unaligned<uint16_t>(at + offset, swapped_); };
  const uint16_t major = load16(4), minor = load16(6);
  if (major != 2 || minor > 4) {
    fail(InputStatus::unsupported, 4,
         "pcap version " + std::to_string(major) + "." + std::to_string(minor) + " is not read, only 2.0 to 2.4 are");
    return false;
  }
  if (minor < 3) lengths_ = Lengths::original_first;
  if (minor == 3) lengths_ = Lengths::smaller_is_captured;
  // The link type is the low half of the last word; the high half holds the FCS length and reserved bits.
  link_type_ = load16(swapped_ == (std::endian::native == std::endian::little) ? 22 : 20);
  fraction_ns_ = magic == kNanoMagic ? 1 : 1000;
  record_header_bytes_ = magic == kModifiedMagic ? 24 : 16;
  header_seen_ = true;
  return true;
}

ParseProgress PcapFormat::parse(std::span<const uint8_t> bytes, uint64_t position, std::span<Packet> packets) {
  size_t begin = 0;
  if (!header_seen_) {
    ParseProgress progress;
    if (bytes.size() < kFileHeaderBytes) {
      progress.need = kFileHeaderBytes;
      progress.pending = {"file header", position, kFileHeaderBytes, false};
      return progress;
    }
    if (!read_file_header(bytes.data())) {
      progress.failed = true;
      return progress;
    }
    begin = kFileHeaderBytes;
  }
  return swapped_ ? read_records<true>(bytes, begin, position, packets)
                  : read_records<false>(bytes, begin, position, packets);
}

template <bool kSwapped>
ParseProgress PcapFormat::read_records(std::span<const uint8_t> bytes, size_t begin, uint64_t position,
                                       std::span<Packet> packets) {
  const size_t header_bytes = record_header_bytes_;
  const uint32_t fraction_ns = fraction_ns_;
  ParseProgress progress;
  size_t at = begin;
  size_t count = 0;
  while (count < packets.size()) {
    const size_t left = bytes.size() - at;
    if (left < header_bytes) {
      progress.need = header_bytes;
      progress.pending = {"record header", position + at, header_bytes, true};
      break;
    }
    const uint8_t* const header = bytes.data() + at;
    // Each header says where the next one is: a chain of loads, which fresh bytes in the second-level cache slow down.
    __builtin_prefetch(header + kPrefetchBytes);
    uint32_t captured = load_unaligned<uint32_t>(header + 8, kSwapped);
    uint32_t original = load_unaligned<uint32_t>(header + 12, kSwapped);
    if (lengths_ != Lengths::captured_first) [[unlikely]] {
      if (lengths_ == Lengths::original_first || captured > original) std::swap(captured, original);
    }
    const uint32_t kept = std::min(captured, kMaxCaptured);
    if (left - header_bytes < kept || captured > kMaxRecord) [[unlikely]] {
      if (captured > kMaxRecord) {
        fail(InputStatus::corrupt, position + at,
             "a record claims more than " + std::to_string(kMaxRecord) + " captured bytes, and no link has so many");
        progress.failed = true;
      } else {
        progress.need = header_bytes + kept;
        progress.pending = {"record data", position + at + header_bytes, captured, false};
      }
      break;
    }
    Packet& packet = packets[count++];
    packet.data = header + header_bytes;
    packet.time_ns = int64_t{load_unaligned<uint32_t>(header, kSwapped)} * 1'000'000'000 +
                     int64_t{load_unaligned<uint32_t>(header + 4, kSwapped)} * fraction_ns;
    packet.captured = kept;
    packet.original = original;
    packet.link_type = link_type_;
    packet.verdict = Verdict::counted;
    at += header_bytes + captured;
    if (at > bytes.size()) [[unlikely]] {
      // Only a record beyond kMaxCaptured comes here.
      progress.skip = at - bytes.size();
      progress.pending = {"record data", position + at - captured, captured, false};
      at = bytes.size();
      break;
    }
  }
  progress.packets = count;
  progress.used = at;
  return progress;
}

}  // namespace trama
