// The headers above the link layer: tags, labels and sessions, LLC, IP.
#include <algorithm>
#include <iterator>

#include "tests/end_to_end/random_captures/random_frames.hpp"

namespace trama::test {

// The first one is no source route: tshark takes its last hop for the destination.
PacketBytes FrameMaker::ipv4_options(size_t bytes) {
  PacketBytes options(bytes, 1);
  if (dice_.one_in(2)) return options;
  options = dice_.bytes(bytes);
  if (bytes != 0) options[0] = dice_.of<uint8_t>({0, 7, 68, 130, 148});
  return options;
}

PacketBytes FrameMaker::ipv4() {
  const bool few = dice_.one_in(2);
  const uint32_t source = few ? 0x0a000000 + dice_.below(20) : dice_.number32();
  const uint32_t destination = few ? 0xc0000200 + dice_.below(5) : dice_.number32();
  const auto words = static_cast<uint8_t>(dice_.one_in(5) ? dice_.between(6, 15) : 5);
  const PacketBytes options = ipv4_options(size_t{4} * (words - 5u)), payload = dice_.bytes(dice_.below(60));
  const auto right = static_cast<uint16_t>(words * 4 + payload.size());
  // 0 or at least the header's length: tshark shows no addresses of a header with another one.
  const uint16_t total =
      dice_.one_in(4) ? dice_.of<uint16_t>({0, 65535, static_cast<uint16_t>(dice_.between(60, 65535))}) : right;
  const uint16_t fragment = dice_.one_in(8) ? dice_.number16() : uint16_t{0};
  const uint8_t protocol = dice_.of<uint8_t>({1, 4, 6, 17, 41, 47, 50, 132, dice_.byte()});
  if (words > 5) may_be_cut_ = false;  // tshark wants the options before it shows the addresses
  PacketBuilder header;
  header.raw({static_cast<uint8_t>(0x40 | words), dice_.byte()}).number16(total).number16(dice_.number16());
  header.number16(fragment).raw({dice_.byte(), protocol}).number16(dice_.number16());
  return header.number32(source).number32(destination).raw(options).raw(payload).bytes();
}

// A version or a header length that can't be. Not cut: tshark judges these before it asks whether the header is there.
PacketBytes FrameMaker::wrong_ipv4() {
  PacketBytes bytes = ipv4();
  const uint32_t version = dice_.one_in(2) ? 4 : dice_.of<uint32_t>({0, 1, 2, 3, 5, 7, 8, 11, 15});
  const uint32_t words = version == 4 ? dice_.below(5) : dice_.below(16);
  bytes[0] = static_cast<uint8_t>(version << 4 | words);
  may_be_cut_ = false;
  return bytes;
}

PacketBytes FrameMaker::ipv6() {
  const uint8_t next = dice_.of<uint8_t>({0, 4, 6, 17, 41, 43, 44, 58, 59, 60, dice_.byte()});
  const PacketBytes payload = dice_.bytes(dice_.below(60));
  PacketBuilder header;
  header.raw({static_cast<uint8_t>(0x60 | dice_.below(16))}).raw(dice_.bytes(3));
  header.number16(dice_.one_in(8) ? dice_.number16() : static_cast<uint16_t>(payload.size())).raw({next, dice_.byte()});
  return header.raw(dice_.bytes(32)).raw(payload).bytes();
}

PacketBytes FrameMaker::wrong_ipv6() {
  PacketBytes bytes = ipv6();
  bytes[0] = static_cast<uint8_t>(dice_.of<uint8_t>({0, 4, 5, 7, 15}) << 4 | (bytes[0] & 15));
  may_be_cut_ = false;
  return bytes;
}

PacketBytes FrameMaker::dead_end() {
  const PacketBytes bytes = dice_.one_in(2) ? ipv4() : dice_.bytes(dice_.between(kLeastDeadBytes, 80));
  dead_bytes_ = static_cast<uint32_t>(bytes.size());
  return bytes;
}

PacketBytes FrameMaker::raw_ip() {
  PacketBytes bytes = dice_.one_in(8) ? wrong_ipv4() : dice_.one_in(4) ? ipv6() : ipv4();
  if (bytes[1] == 0xff) bytes[1] = 0;  // tshark looks for PPP's FF 03 there
  return bytes;
}

uint16_t FrameMaker::any_dead_type() {
  constexpr uint16_t kNotThese[] = {kIpv6Type, kVlanType, kServiceVlanType, kOldVlanType, kOtherVlanType, kMplsType,
                                    kMplsMulticastType, kPppoeType, kPbbType, kVnTagType, kETagType, kNshType,
                                    kIpv4Type,
                                    // tshark has nothing to show for these, so that the header before them looks cut.
                                    0x2065, 0x2067, 0xaaaa};
  const auto type = static_cast<uint16_t>(dice_.between(0x0600, 0xffff));
  return std::find(std::begin(kNotThese), std::end(kNotThese), type) == std::end(kNotThese) ? type : kArpType;
}

uint16_t FrameMaker::any_type(unsigned depth) {
  const bool may_go_on = depth < kDeepest;
  switch (dice_.below(may_go_on ? 16 : 8)) {
    case 0: return kIpv6Type;
    case 1: return dice_.of<uint16_t>({kArpType, 0x0842, 0x809b, 0x8137, 0x8863, 0x888e, 0x88cc, 0x88f7, 0x9000});
    case 2: return any_dead_type();
    case 8:
    case 9:
    case 10: return dice_.of<uint16_t>({kVlanType, kServiceVlanType, kOldVlanType, kOtherVlanType});
    case 11: return dice_.of<uint16_t>({kMplsType, kMplsMulticastType});
    case 12: return kPppoeType;
    case 13: return dice_.of<uint16_t>({kPbbType, kVnTagType, kETagType});
    case 14: return kNshType;
    default: return kIpv4Type;
  }
}

PacketBytes FrameMaker::of_type(uint16_t type, unsigned depth) {
  switch (type) {
    case kIpv4Type: return dice_.one_in(10) ? wrong_ipv4() : ipv4();
    case kIpv6Type: return dice_.one_in(10) ? wrong_ipv6() : ipv6();
    case kVlanType:
    case kOldVlanType:
    case kOtherVlanType: return length_or_type(PacketBuilder().number16(dice_.number16()), depth + 1);
    // A length may follow each of the tags, but tshark looks for it only behind some.
    case kServiceVlanType: return typed(PacketBuilder().number16(dice_.number16()), depth + 1);
    case kVnTagType: return length_or_type(PacketBuilder().number32(0x00020003), depth + 1);
    case kETagType: return typed(PacketBuilder().number16(0x1000).number32(0x10020000), depth + 1);
    case kPbbType: return typed(PacketBuilder().pbb(dice_.number32()).raw(dice_.bytes(12)), depth + 1);
    case kMplsType:
    case kMplsMulticastType: return mpls();
    case kPppoeType: return pppoe();
    case kNshType: return nsh(depth + 1);
    default: return dead_end();
  }
}

PacketBytes FrameMaker::length_or_type(PacketBuilder header, unsigned depth) {
  if (depth >= kDeepest || !dice_.one_in(8)) return typed(header, depth);
  const PacketBytes content = llc(depth);
  return joined(header.number16(static_cast<uint16_t>(content.size() + dice_.below(3))), content);
}

PacketBytes FrameMaker::typed(PacketBuilder header, unsigned depth) {
  const uint16_t type = any_type(depth);
  return joined(header.number16(type), of_type(type, depth));
}

PacketBytes FrameMaker::ethernet(unsigned depth) { return length_or_type(PacketBuilder().raw(dice_.bytes(12)), depth); }

PacketBytes FrameMaker::llc(unsigned depth) {
  PacketBuilder header;
  switch (dice_.below(8)) {
    case 0: return joined(header.llc(0x42, 0x42, 0x03), dead_end());
    // Not 06, which tshark takes for IP by the destination alone.
    case 1: return joined(header.llc(dice_.byte() | 0x08, dice_.byte(), 0x03), dead_end());
    case 2: return joined(header.llc(0x06, 0x06, 0x03), of_type(kIpv4Type, depth));
    case 3:
      return joined(header.snap(any_type(depth), dice_.of<uint32_t>({0x00000c, 0x080007, dice_.number32() & 0xffffff})),
                    dead_end());
    default: {
      const uint16_t type = any_type(depth);
      return joined(header.snap(type, dice_.of<uint32_t>({0, 0, 0, 0xf8})), of_type(type, depth));
    }
  }
}

// Labels under 16 have meanings of their own, which tshark knows.
PacketBytes FrameMaker::mpls() {
  PacketBuilder labels;
  for (uint32_t left = dice_.below(4); left > 0; --left) labels.mpls(dice_.between(16, 0xfffff), false);
  labels.mpls(dice_.between(16, 0xfffff), true);
  switch (dice_.below(8)) {
    case 0: return joined(labels.number32(dice_.below(0x10000)), ethernet(kDeepest));  // a pseudowire's control word
    case 1: return joined(labels, ipv6());
    default: return joined(labels, ipv4());
  }
}

PacketBytes FrameMaker::nsh(unsigned depth) {
  const auto next = static_cast<uint8_t>(dice_.between(1, 6));
  PacketBuilder header;
  header.nsh(next, static_cast<uint8_t>(dice_.below(8)));
  switch (next) {
    case 1: return joined(header, of_type(kIpv4Type, depth));
    case 2: return joined(header, ipv6());
    case 3: return joined(header, ethernet(depth));
    case 4: return joined(header, depth < kDeepest ? nsh(depth + 1) : PacketBytes{});
    case 5: return joined(header, mpls());
    default: return joined(header, dead_end());
  }
}

PacketBytes FrameMaker::pppoe() {
  const bool session = !dice_.one_in(8);
  const PacketBytes content = session ? ppp(false) : dead_end();
  const uint8_t code = session ? uint8_t{0} : dice_.of<uint8_t>({0x07, 0x09, 0x19, 0x65, 0xa7});
  return joined(PacketBuilder().pppoe(code, static_cast<uint16_t>(content.size())), content);
}

// `may_be_framed`: tshark knows FF 03 only on links that are PPP from the start.
PacketBytes FrameMaker::ppp(bool may_be_framed) {
  const uint16_t protocol = dice_.of<uint16_t>(
      {0x0021, 0x0021, 0x0021, 0x0057, 0x0281, 0x0283, 0xc021, 0x8021, 0x002d, 0x00fd, 0x003d, 0xc223});
  PacketBuilder header;
  if (may_be_framed && dice_.one_in(2)) header.raw({0xff, 0x03});
  if (protocol < 0x100 && dice_.one_in(2))
    header.raw({static_cast<uint8_t>(protocol)});
  else
    header.number16(protocol);
  switch (protocol) {
    case 0x0021: return joined(header, of_type(kIpv4Type, kDeepest));
    case 0x0057: return joined(header, ipv6());
    case 0x0281:
    case 0x0283: return joined(header, mpls());
    default: may_be_cut_ = false; return joined(header, dead_end());
  }
}

}  // namespace trama::test
