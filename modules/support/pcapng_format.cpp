#include "modules/support/pcapng_format.hpp"

#include <algorithm>

namespace trama {
namespace {

constexpr uint32_t kInterface = 1, kObsoletePacket = 2, kSimplePacket = 3, kEnhancedPacket = 6;
constexpr uint32_t kByteOrderMagic = 0x1a2b3c4d;
// Type and length in front of a block's body, and the length behind it.
constexpr size_t kBlockHead = 8, kBlockTail = 4;
// What the fixed fields of a block take, from its type on.
constexpr size_t kSectionFields = 24, kInterfaceFields = 16, kPacketFields = 28, kSimpleFields = 12;

bool holds_packet(uint32_t type) { return type == kEnhancedPacket || type == kSimplePacket || type == kObsoletePacket; }

size_t field_bytes(uint32_t type) {
  switch (type) {
    case PcapngFormat::kSectionHeader: return kSectionFields;
    case kInterface: return kInterfaceFields;
    case kEnhancedPacket:
    case kObsoletePacket: return kPacketFields;
    case kSimplePacket: return kSimpleFields;
    default: return kBlockHead;
  }
}

}  // namespace

// `at` holds 16 bytes: type, length, byte-order magic, version.
bool PcapngFormat::start_section(const uint8_t* at, uint64_t position) {
  const uint32_t magic = load_unaligned<uint32_t>(at + 8, false);
  swapped_ = magic == __builtin_bswap32(kByteOrderMagic);
  if (!swapped_ && magic != kByteOrderMagic) {
    fail(header_seen_ ? InputStatus::corrupt : InputStatus::unsupported, position,
         "a pcapng section header without its byte-order magic");
    return false;
  }
  const uint16_t major = load_unaligned<uint16_t>(at + 12, swapped_);
  const uint16_t minor = load_unaligned<uint16_t>(at + 14, swapped_);
  if (major != 1) {
    const std::string version = header_seen_ ? "" : " " + std::to_string(major) + "." + std::to_string(minor);
    fail(InputStatus::unsupported, position, "pcapng version" + version + " is not read, only 1.x is");
    return false;
  }
  interfaces_.clear();
  return true;
}

bool PcapngFormat::length_is_possible(const Block& block) {
  const size_t least = field_bytes(block.type) + kBlockTail;
  std::string wrong;
  if (block.length % 4 != 0) {
    wrong = "that is no multiple of 4";
  } else if (block.length < least) {
    wrong = "of less than " + std::to_string(least) + " bytes, which its kind takes at least";
  }
  if (wrong.empty()) return true;
  fail(InputStatus::corrupt, block.at, "a pcapng block with a length " + wrong);
  return false;
}

const PcapngFormat::Interface* PcapngFormat::find_interface(const Block& block, uint32_t number) {
  if (number < interfaces_.size()) return &interfaces_[number];
  if (interfaces_.empty()) {
    fail(InputStatus::corrupt, block.at, "a packet before any interface");
  } else {
    fail(
        InputStatus::corrupt, block.at,
        "a packet of an interface that isn't among the " + std::to_string(interfaces_.size()) + " described before it");
  }
  return nullptr;
}

bool PcapngFormat::read_interface_options(const Block& block, Interface& interface) {
  constexpr uint16_t kEnd = 0, kResolution = 9, kOffset = 14;
  uint8_t resolution = 6;
  int64_t offset_s = 0;
  const size_t end = block.length - kBlockTail;
  for (size_t at = kInterfaceFields; at + 4 <= end;) {
    const uint16_t code = load_unaligned<uint16_t>(block.data + at, swapped_);
    const size_t bytes = load_unaligned<uint16_t>(block.data + at + 2, swapped_);
    at += 4;
    if (code == kEnd) break;
    if (bytes > end - at || (code == kResolution && bytes != 1) || (code == kOffset && bytes != 8)) {
      fail(InputStatus::corrupt, block.at + at - 4,
           "an option of an interface has a length that its kind can't have, or that leaves its block");
      return false;
    }
    if (code == kResolution) resolution = block.data[at];
    if (code == kOffset) offset_s = static_cast<int64_t>(load_unaligned<uint64_t>(block.data + at, swapped_));
    at += (bytes + 3) / 4 * 4;
  }
  interface.clock = PcapngClock(resolution, offset_s);
  return true;
}

bool PcapngFormat::add_interface(const Block& block) {
  if (block.length > kMaxNeed) {
    fail(InputStatus::unsupported, block.at,
         "an interface block of more than " + std::to_string(kMaxNeed) + " bytes, the longest that is read");
    return false;
  }
  if (interfaces_.size() == kMaxInterfaces) {
    fail(InputStatus::unsupported, block.at, "more than " + std::to_string(kMaxInterfaces) + " interfaces");
    return false;
  }
  Interface interface;
  interface.link_type = load_unaligned<uint16_t>(block.data + 8, swapped_);
  interface.snap_length = load_unaligned<uint32_t>(block.data + 12, swapped_);
  if (!read_interface_options(block, interface)) return false;
  interfaces_.push_back(interface);
  return true;
}

// The block's fixed fields and its first kMaxCaptured captured bytes are there.
bool PcapngFormat::describe(const Block& block, Packet& packet) {
  const auto load32 = [&](size_t offset) { return load_unaligned<uint32_t>(block.data + offset, swapped_); };
  const bool simple = block.type == kSimplePacket;
  const size_t fields = simple ? kSimpleFields : kPacketFields;
  uint32_t number = 0;
  if (block.type == kEnhancedPacket) number = load32(8);
  if (block.type == kObsoletePacket) number = load_unaligned<uint16_t>(block.data + 8, swapped_);
  const Interface* interface = find_interface(block, number);
  if (!interface) return false;
  uint32_t captured;
  if (simple) {
    packet.original = load32(8);
    captured = packet.original;
    if (interface->snap_length != 0) captured = std::min(captured, interface->snap_length);
  } else {
    last_time_ns_ = interface->clock.time_ns(uint64_t{load32(12)} << 32 | load32(16));
    captured = load32(20);
    packet.original = load32(24);
  }
  if (captured > block.length - fields - kBlockTail || captured > kMaxRecord) {
    fail(InputStatus::corrupt, block.at,
         "a packet claims more captured bytes than its block holds, or than " + std::to_string(kMaxRecord));
    return false;
  }
  packet.data = block.data + fields;
  packet.time_ns = last_time_ns_;
  packet.captured = std::min(captured, kMaxCaptured);
  packet.link_type = interface->link_type;
  packet.verdict = Verdict::counted;
  return true;
}

// How many bytes of the block have to be there before anything is done with it.
size_t PcapngFormat::wanted_bytes(const Block& block) {
  if (block.type != kInterface && !holds_packet(block.type)) return field_bytes(block.type);
  return std::min<size_t>(block.length, kMaxNeed);
}

bool PcapngFormat::begin_block(std::span<const uint8_t> rest, uint64_t at, ParseProgress& progress, Block& block) {
  size_t head = kBlockHead;
  if (rest.size() >= 4 && load_unaligned<uint32_t>(rest.data(), false) == kSectionHeader) head = kSectionFields;
  if (rest.size() < head) {
    progress.need = head;
    progress.pending = {"block header", at, head, true};
    return false;
  }
  if (head == kSectionFields && !start_section(rest.data(), at)) {
    progress.failed = true;
    return false;
  }
  block = {rest.data(), at, load_unaligned<uint32_t>(rest.data(), swapped_),
           load_unaligned<uint32_t>(rest.data() + 4, swapped_)};
  progress.failed = !length_is_possible(block);
  return !progress.failed;
}

// Compares the length behind a block with the one before it.
bool PcapngFormat::lengths_agree(const uint8_t* second, uint64_t at, uint32_t length) {
  if (load_unaligned<uint32_t>(second, swapped_) == length) return true;
  fail(InputStatus::corrupt, at, "the length before a block differs from the one behind it");
  return false;
}

bool PcapngFormat::end_block(std::span<const uint8_t> rest, ParseProgress& progress) {
  progress.pending = {"block", block_at_, block_length_, false};
  if (rest.size() < kBlockTail) {
    progress.need = kBlockTail;
    return false;
  }
  progress.failed = !lengths_agree(rest.data(), block_at_, block_length_);
  if (progress.failed) return false;
  progress.used += kBlockTail;
  block_length_ = 0;
  header_seen_ = true;  // the first block is a section header
  return true;
}

// Does what the block is for; its wanted bytes are there.
bool PcapngFormat::take(const Block& block, std::span<Packet> packets, ParseProgress& progress) {
  if (holds_packet(block.type)) {
    if (!describe(block, packets[progress.packets])) return false;
    ++progress.packets;
  } else if (block.type == kInterface) {
    return add_interface(block);
  }
  return true;
}

// The blocks that nearly all files consist of: enhanced packets with nothing unusual about them, wholly there. Stops at
// anything else, which the general way then judges. Four times as fast as that.
template <bool kSwapped>
void PcapngFormat::read_plain_packets(std::span<const uint8_t> bytes, std::span<Packet> packets,
                                      ParseProgress& progress) {
  constexpr size_t kLeast = kPacketFields + kBlockTail;
  const uint8_t* at = bytes.data() + progress.used;
  const uint8_t* const end = bytes.data() + bytes.size();
  const auto load32 = [&at](size_t offset) { return load_unaligned<uint32_t>(at + offset, kSwapped); };
  size_t count = progress.packets;
  while (count < packets.size() && static_cast<size_t>(end - at) >= kLeast) {
    __builtin_prefetch(at + kPrefetchBytes);
    const uint32_t length = load32(4), number = load32(8), captured = load32(20);
    if (load32(0) != kEnhancedPacket || length % 4 != 0 || length < kLeast || length > kMaxNeed ||
        length > static_cast<size_t>(end - at) || load32(length - kBlockTail) != length ||
        number >= interfaces_.size() || captured > length - kLeast || captured > kMaxCaptured) {
      break;
    }
    const Interface& interface = interfaces_[number];
    last_time_ns_ = interface.clock.time_ns(uint64_t{load32(12)} << 32 | load32(16));
    packets[count++] = {at + kPacketFields, last_time_ns_, captured, load32(24), interface.link_type, Verdict::counted};
    at += length;
  }
  progress.packets = count;
  progress.used = static_cast<size_t>(at - bytes.data());
}

// One block, or what is there of it. False when no more can be done with these bytes.
bool PcapngFormat::read_block(std::span<const uint8_t> rest, uint64_t at, std::span<Packet> packets,
                              ParseProgress& progress) {
  Block block;
  if (!begin_block(rest, at, progress, block)) return false;
  const size_t wanted = wanted_bytes(block);
  progress.pending = {"block", block.at, block.length, false};
  if (rest.size() < wanted) {
    progress.need = wanted;
    return false;
  }
  const size_t body_end = block.length - kBlockTail;
  const bool whole = wanted == block.length;
  if ((whole && !lengths_agree(block.data + body_end, block.at, block.length)) || !take(block, packets, progress)) {
    progress.failed = true;
    return false;
  }
  if (whole) {
    progress.used += block.length;
    return true;
  }
  block_at_ = block.at;
  block_length_ = block.length;
  const size_t passed = std::min(rest.size(), body_end);
  progress.used += passed;
  progress.skip = body_end - passed;
  return progress.skip == 0;
}

ParseProgress PcapngFormat::parse(std::span<const uint8_t> bytes, uint64_t position, std::span<Packet> packets) {
  ParseProgress progress;
  bool more = true;
  while (more && progress.packets < packets.size()) {
    const std::span<const uint8_t> rest = bytes.subspan(progress.used);
    more =
        block_length_ != 0 ? end_block(rest, progress) : read_block(rest, position + progress.used, packets, progress);
    if (!more || block_length_ != 0) continue;
    if (swapped_) {
      read_plain_packets<true>(bytes, packets, progress);
    } else {
      read_plain_packets<false>(bytes, packets, progress);
    }
  }
  return progress;
}

}  // namespace trama
