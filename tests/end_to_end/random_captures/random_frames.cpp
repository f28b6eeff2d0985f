#include "tests/end_to_end/random_captures/random_frames.hpp"

#include <algorithm>
#include <iterator>

namespace trama::test {
namespace {

constexpr uint16_t kLinkTypes[] = {0,   1,   6,   7,   9,   10,  12,  14,  50,  51,  101, 104, 105, 108, 113, 119,
                                   127, 129, 163, 192, 204, 228, 229, 239, 242, 258, 276, 147, 160, 187, 195};

}  // namespace

std::span<const uint16_t> FrameMaker::link_types() { return kLinkTypes; }

RandomFrame FrameMaker::frame(uint16_t link_type, ByteOrder file_order) {
  file_order_ = file_order;
  may_be_cut_ = true;
  dead_bytes_ = 0;
  PacketBytes bytes = whole(link_type);
  const auto size = static_cast<uint32_t>(bytes.size());
  RandomFrame made{std::move(bytes), size};
  if (link_type == kNflogLink) return made;  // of a cut one tshark shows nothing
  if (dice_.one_in(6)) {
    // tshark ends at an empty packet of PPP with direction.
    made.bytes.resize(place_of_cut(size, link_type == kPppDirectionLink ? 1 : 0));
    if (dice_.one_in(4)) made.original = static_cast<uint32_t>(made.bytes.size());
  } else if (dice_.one_in(40) && link_type != kIpoibLink && link_type != kPppDirectionLink) {
    made.original = dice_.below(size);  // fewer than were captured
  } else if (dice_.one_in(20)) {
    made.original += dice_.below(3000);
  }
  return made;
}

// Not inside the first bytes of a dead end: tshark may take them for a header's, and the walk has judged already.
uint32_t FrameMaker::place_of_cut(uint32_t size, uint32_t least) {
  if (!may_be_cut_) return size;
  const uint32_t place = std::max(dice_.below(size + 1), least), dead_end_at = size - dead_bytes_;
  return place >= dead_end_at ? std::max(place, dead_end_at + std::min(dead_bytes_, kLeastDeadBytes)) : place;
}

PacketBytes FrameMaker::whole(uint16_t link_type) {
  switch (link_type) {
    case kEthernetLink: return ethernet(0);
    case kPppLink: return ppp(true);
    case kPppHdlcLink:
      return dice_.one_in(3) ? typed(PacketBuilder().raw({dice_.of<uint8_t>({0x0f, 0x8f}), 0}), kDeepest) : ppp(true);
    case kPppDirectionLink: return joined(PacketBuilder().raw({static_cast<uint8_t>(dice_.below(2))}), ppp(true));
    case kPppoeLink: return pppoe();
    case kCiscoHdlcLink: return typed(PacketBuilder().raw({dice_.of<uint8_t>({0x0f, 0x8f}), 0}), kDeepest);
    case 12:
    case 14:
    case kRawLink: return raw_ip();
    case kIpv4Link: return dice_.one_in(8) ? wrong_ipv4() : ipv4();
    case kIpv6Link: return dice_.one_in(8) ? wrong_ipv6() : ipv6();
    case kWifiLink:
    case kPrismLink:
    case kRadiotapLink:
    case kAvsLink: return radio_frame(link_type);
    case kTokenRingLink:
    case kFddiLink:
    case kArcnetLink:
    case kArcnetLinuxLink: return local_frame(link_type);
    default: return host_frame(link_type);
  }
}

PacketBytes FrameMaker::host_frame(uint16_t link_type) {
  PacketBuilder header;
  switch (link_type) {
    case kNullLink:
    case kLoopLink: {
      const uint32_t family = dice_.of<uint32_t>({2, 2, 2, 24, 28, 30, 16, 7, dice_.between(31, 200)});
      header.family(family, link_type == kLoopLink ? ByteOrder::big : dice_.order());
      return joined(header, family == 2                                    ? of_type(kIpv4Type, 0)
                            : family == 24 || family == 28 || family == 30 ? ipv6()
                                                                           : dead_end());
    }
    case kCookedLink:
    case kCooked2Link: {
      const uint16_t protocol = dice_.one_in(8) ? uint16_t{4} : any_type(1);
      const uint16_t device = dice_.of<uint16_t>({1, 512, 65534, 772});
      if (link_type == kCookedLink)
        header.cooked(protocol, device);
      else
        header.cooked2(protocol, device);
      return joined(header, protocol == 4 ? llc(1) : of_type(protocol, 1));
    }
    case kNflogLink: {
      const uint8_t family = dice_.of<uint8_t>({2, 2, 10, 7});
      const PacketBytes packet = family == 2 ? of_type(kIpv4Type, 0) : family == 10 ? ipv6() : dead_end();
      header.nflog(family);
      if (dice_.one_in(2)) header.nflog_record(1, 4, file_order_);
      if (dice_.one_in(2)) header.nflog_record(10, 1, file_order_).filled(3);
      header.nflog_record(9, static_cast<uint16_t>(packet.size()), file_order_).raw(packet);
      return header.filled((4 - packet.size() % 4) % 4).bytes();
    }
    case kIpoibLink: {
      const uint16_t type = any_type(kDeepest);
      return joined(header.ipoib(type), of_type(type, kDeepest));
    }
    case kPpiLink:
    case kPktapLink: {
      const uint16_t inner = dice_.of<uint16_t>({kEthernetLink, kRawLink, kWifiLink, kPppLink});
      if (link_type == kPpiLink)
        header.ppi(inner);
      else
        header.pktap(inner);
      return joined(header, whole(inner));
    }
    default: return dead_end();
  }
}

PacketBytes FrameMaker::local_frame(uint16_t link_type) {
  PacketBuilder header;
  if (link_type == kTokenRingLink) {
    const bool is_llc = !dice_.one_in(8);
    header.token_ring(is_llc ? 0x40 : 0x00, static_cast<uint8_t>(dice_.one_in(3) ? 2 * dice_.between(1, 8) : 0));
    if (!is_llc) may_be_cut_ = false;  // tshark doesn't tell what kind of frame a cut one is
    return joined(header, is_llc ? llc(kDeepest) : dead_end());
  }
  if (link_type == kFddiLink) {
    const bool is_llc = !dice_.one_in(8);
    header.fddi(is_llc ? dice_.of<uint8_t>({0x50, 0x51, 0x57}) : dice_.of<uint8_t>({0x80, 0xc0, 0x41}));
    return joined(header, is_llc ? llc(kDeepest) : dead_end());
  }
  const uint8_t type = dice_.of<uint8_t>({212, 212, 240, 196, 213, 211, dice_.byte()});
  if (link_type == kArcnetLink)
    header.arcnet(type);
  else
    header.arcnet_linux(type);
  if (type == 212 || type == 196) header.raw({0, dice_.byte(), dice_.byte()});
  if (type == 212 || type == 240) return joined(header, of_type(kIpv4Type, 0));
  if (type == 196) return joined(header, ipv6());
  may_be_cut_ = false;  // tshark looks for the next header's bytes whatever the type
  return joined(header.raw({0, 0, 1}), dead_end());
}

PacketBytes FrameMaker::radio_frame(uint16_t link_type) {
  if (link_type == kRadiotapLink) return radiotap();
  PacketBuilder header;
  if (link_type == kAvsLink || (link_type == kPrismLink && dice_.one_in(3)))
    header.avs();
  else if (link_type == kPrismLink)
    header.prism(dice_.order());
  return joined(header, wifi(false));
}

PacketBytes FrameMaker::wifi(bool padded) {
  WifiFrame frame{.four_addresses = dice_.one_in(4), .qos = dice_.one_in(2), .padded = padded};
  frame.aggregated = frame.qos && dice_.one_in(4);
  frame.ht_control = frame.qos && dice_.one_in(4);
  frame.without_data = dice_.one_in(12);
  frame.encrypted = dice_.one_in(10);
  frame.priority = static_cast<uint8_t>(dice_.below(8));
  if (frame.without_data || frame.encrypted) may_be_cut_ = false;  // tshark doesn't tell of a cut one what it is
  if (dice_.one_in(10)) return PacketBuilder().raw({dice_.of<uint8_t>({0x80, 0x40, 0xb4, 0xd4}), 0}).filled(22).bytes();
  const PacketBytes content = frame.encrypted || frame.without_data ? dead_end() : llc(kDeepest);
  frame.subframe_bytes = static_cast<uint16_t>(content.size());
  return joined(PacketBuilder().wifi(frame), content);
}

PacketBytes FrameMaker::radiotap() {
  const bool padded = dice_.one_in(3);
  const auto flags = static_cast<uint8_t>((padded ? 0x20 : 0) | (dice_.byte() & 0x07));
  PacketBuilder header;
  switch (dice_.below(4)) {
    case 0: return joined(header.radiotap({0}, {}), wifi(false));
    case 1: return joined(header.radiotap({2}, {flags}), wifi(padded));
    case 2: return joined(header.radiotap({3}, {1, 2, 3, 4, 5, 6, 7, 8, flags}), wifi(padded));
    default: return joined(header.radiotap({0x80000003, 0}, {0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, flags}), wifi(padded));
  }
}

}  // namespace trama::test
