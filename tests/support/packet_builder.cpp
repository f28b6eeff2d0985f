#include "tests/support/packet_builder.hpp"

#include <algorithm>

namespace trama {
namespace {

constexpr uint8_t kDestinationMac[6] = {0x02, 0, 0, 0, 0, 0x01}, kSourceMac[6] = {0x02, 0, 0, 0, 0, 0x02};

}  // namespace

PacketBuilder& PacketBuilder::raw(std::initializer_list<uint8_t> values) {
  bytes_.insert(bytes_.end(), values.begin(), values.end());
  return *this;
}

PacketBuilder& PacketBuilder::raw(std::span<const uint8_t> values) {
  bytes_.insert(bytes_.end(), values.begin(), values.end());
  return *this;
}

PacketBuilder& PacketBuilder::filled(size_t bytes, uint8_t value) {
  bytes_.resize(bytes_.size() + bytes, value);
  return *this;
}

PacketBuilder& PacketBuilder::number16(uint16_t value, ByteOrder order) {
  const auto high = static_cast<uint8_t>(value >> 8), low = static_cast<uint8_t>(value);
  return order == ByteOrder::big ? raw({high, low}) : raw({low, high});
}

PacketBuilder& PacketBuilder::number32(uint32_t value, ByteOrder order) {
  const auto high = static_cast<uint16_t>(value >> 16), low = static_cast<uint16_t>(value);
  return order == ByteOrder::big ? number16(high, order).number16(low, order)
                                 : number16(low, order).number16(high, order);
}

PacketBuilder& PacketBuilder::ethernet(uint16_t length_or_type) {
  return raw(kDestinationMac).raw(kSourceMac).number16(length_or_type);
}
PacketBuilder& PacketBuilder::vlan(uint16_t control, uint16_t next) { return number16(control).number16(next); }
PacketBuilder& PacketBuilder::vn_tag(uint16_t next) { return number32(0x00020003).number16(next); }
PacketBuilder& PacketBuilder::e_tag(uint16_t next) { return number16(0x1000).number32(0x10020000).number16(next); }
PacketBuilder& PacketBuilder::pbb(uint32_t service) { return number32(service & 0xffffff); }
PacketBuilder& PacketBuilder::mpls(uint32_t label, bool bottom) {
  return number32(label << 12 | (bottom ? 0x100u : 0u) | 64);
}

PacketBuilder& PacketBuilder::nsh(uint8_t next, uint8_t context_words) {
  const auto words = static_cast<uint8_t>(2 + context_words);
  return raw({0x0f, static_cast<uint8_t>(0xc0 | words), 0x02, next, 0, 0, 1, 255}).filled(size_t{context_words} * 4);
}

PacketBuilder& PacketBuilder::llc(uint8_t destination, uint8_t source, uint8_t control) {
  return raw({destination, source, control});
}

PacketBuilder& PacketBuilder::snap(uint16_t protocol, uint32_t organization) {
  return llc(0xaa, 0xaa, 0x03)
      .raw({static_cast<uint8_t>(organization >> 16)})
      .number16(static_cast<uint16_t>(organization))
      .number16(protocol);
}

PacketBuilder& PacketBuilder::token_ring(uint8_t frame_control, uint8_t route_bytes) {
  raw({0x10, frame_control}).raw(kDestinationMac);
  const size_t source_at = size();
  raw(kSourceMac);
  if (route_bytes == 0) return *this;
  bytes_[source_at] |= 0x80;
  return raw({route_bytes}).filled(route_bytes - 1u);
}

PacketBuilder& PacketBuilder::fddi(uint8_t frame_control) {
  return raw({frame_control}).raw(kDestinationMac).raw(kSourceMac);
}

PacketBuilder& PacketBuilder::pppoe(uint8_t code, uint16_t bytes_behind) {
  return raw({0x11, code, 0, 7}).number16(bytes_behind);
}
PacketBuilder& PacketBuilder::ppp(uint16_t protocol) { return number16(protocol); }
PacketBuilder& PacketBuilder::ppp_framed(uint16_t protocol) { return raw({0xff, 0x03}).number16(protocol); }
PacketBuilder& PacketBuilder::cisco_hdlc(uint16_t ethertype) { return raw({0x0f, 0}).number16(ethertype); }
PacketBuilder& PacketBuilder::slip() { return raw({0, 0x40}).filled(14); }

PacketBuilder& PacketBuilder::wifi(const WifiFrame& frame) {
  uint8_t control = 0x08, flags = frame.four_addresses ? 0x03 : 0x01;
  if (frame.qos) control |= 0x80;
  if (frame.without_data) control |= 0x40;
  if (frame.encrypted) flags |= 0x40;
  if (frame.ht_control) flags |= 0x80;
  const size_t start = size();
  raw({control, flags, 0, 0}).raw(kDestinationMac).raw(kSourceMac).raw(kDestinationMac);
  raw({frame.fragment, 0x10});
  if (frame.four_addresses) raw(kSourceMac);
  if (frame.qos) raw({static_cast<uint8_t>((frame.aggregated ? 0x80 : 0) | frame.priority), 0});
  if (frame.ht_control) filled(4);
  if (frame.padded) filled((4 - (size() - start) % 4) % 4);
  if (frame.aggregated) raw(kDestinationMac).raw(kSourceMac).number16(frame.subframe_bytes);
  return *this;
}

PacketBuilder& PacketBuilder::radiotap(std::initializer_list<uint32_t> present, std::initializer_list<uint8_t> fields) {
  const size_t header_bytes = 4 + 4 * present.size() + fields.size();
  raw({0, 0}).number16(static_cast<uint16_t>(header_bytes), ByteOrder::little);
  for (uint32_t word : present) number32(word, ByteOrder::little);
  return raw(fields);
}

PacketBuilder& PacketBuilder::prism(ByteOrder order) {
  return number32(0x44, order).number32(144, order).filled(144 - 8);
}

PacketBuilder& PacketBuilder::avs(uint32_t header_bytes) {
  return number32(0x80211001).number32(header_bytes).filled(header_bytes < 8 ? 0 : header_bytes - 8);
}

PacketBuilder& PacketBuilder::ppi(uint32_t link_type, uint16_t header_bytes) {
  return raw({0, 0})
      .number16(header_bytes, ByteOrder::little)
      .number32(link_type, ByteOrder::little)
      .filled(header_bytes < 8 ? 0 : header_bytes - 8u);
}

PacketBuilder& PacketBuilder::family(uint32_t family, ByteOrder order) { return number32(family, order); }

PacketBuilder& PacketBuilder::cooked(uint16_t protocol, uint16_t device) {
  return number16(0).number16(device).number16(6).raw(kSourceMac).filled(2).number16(protocol);
}

PacketBuilder& PacketBuilder::cooked2(uint16_t protocol, uint16_t device) {
  return number16(protocol).filled(2).number32(3).number16(device).raw({0, 6}).raw(kSourceMac).filled(2);
}

PacketBuilder& PacketBuilder::nflog(uint8_t family) { return raw({family, 0}).number16(5); }

PacketBuilder& PacketBuilder::nflog_record(uint16_t type, uint16_t value_bytes, ByteOrder order) {
  constexpr uint16_t kPayload = 9;
  number16(static_cast<uint16_t>(4 + value_bytes), order).number16(type, order);
  return type == kPayload ? *this : filled(value_bytes);
}

PacketBuilder& PacketBuilder::pktap(uint32_t link_type, uint32_t header_bytes) {
  return number32(header_bytes, ByteOrder::little)
      .number32(1, ByteOrder::little)
      .number32(link_type, ByteOrder::little)
      .filled(header_bytes < 12 ? 0 : header_bytes - 12);
}

PacketBuilder& PacketBuilder::ipoib(uint16_t ethertype) { return filled(40).number16(ethertype).filled(2); }
PacketBuilder& PacketBuilder::arcnet(uint8_t type) { return raw({0xbe, 0x00, type}); }
PacketBuilder& PacketBuilder::arcnet_linux(uint8_t type) { return raw({0xbe, 0x00, 0, 0, type}); }

PacketBuilder& PacketBuilder::ipv4(uint32_t source, uint32_t destination, uint8_t first_byte) {
  return raw({first_byte, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0}).number32(source).number32(destination);
}

PacketBuilder& PacketBuilder::ipv6(uint8_t first_byte) {
  return raw({first_byte, 0, 0, 0, 0, 0, 59, 64}).number32(0x20010db8).filled(12).number32(0x20010db8).filled(12);
}

PacketBytes raw_ipv4_packet(uint32_t source, uint32_t destination, size_t payload_bytes) {
  return PacketBuilder().ipv4(source, destination).payload(payload_bytes).bytes();
}

PacketBytes ethernet_ipv4_packet(uint32_t source, uint32_t destination, size_t payload_bytes) {
  return PacketBuilder().ethernet(kIpv4Type).ipv4(source, destination).payload(payload_bytes).bytes();
}

CapturedPacket::CapturedPacket(std::span<const uint8_t> bytes, size_t captured)
    : data_(std::make_unique<uint8_t[]>(std::min(captured, bytes.size()))),
      captured_(static_cast<uint32_t>(std::min(captured, bytes.size()))),
      original_(static_cast<uint32_t>(bytes.size())) {
  std::copy_n(bytes.begin(), captured_, data_.get());
}

Packet CapturedPacket::packet(uint16_t link_type, int64_t time_ns) const {
  return {data_.get(), time_ns, captured_, original_, link_type, Verdict::counted};
}

}  // namespace trama
