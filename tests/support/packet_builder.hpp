// Frames for tests, written header by header from the outside in, for every link layer that the header walk knows:
//
//   PacketBuilder().ethernet(kVlanType).vlan(5, kIpv4Type).ipv4(0x0a000001, 0xc0000201).payload(18).bytes()
//
// Each call appends one header and takes what the header says about its successor, so that wrong frames are as easy to
// write as right ones. Addresses are numbers: 1.2.3.4 is 0x01020304. Lengths and checksums inside IP headers are 0
// where nobody judges them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "modules/support/packet.hpp"

namespace trama {

using PacketBytes = std::vector<uint8_t>;

// Ethertypes.
inline constexpr uint16_t kIpv4Type = 0x0800, kIpv6Type = 0x86dd, kArpType = 0x0806;
inline constexpr uint16_t kVlanType = 0x8100, kServiceVlanType = 0x88a8, kOldVlanType = 0x9100, kOtherVlanType = 0x9200;
inline constexpr uint16_t kMplsType = 0x8847, kMplsMulticastType = 0x8848;
inline constexpr uint16_t kPppoeDiscoveryType = 0x8863, kPppoeType = 0x8864;
inline constexpr uint16_t kPbbType = 0x88e7, kVnTagType = 0x8926, kETagType = 0x893f, kNshType = 0x894f;

// LINKTYPE_ numbers.
inline constexpr uint16_t kNullLink = 0, kEthernetLink = 1, kTokenRingLink = 6, kArcnetLink = 7, kSlipLink = 8,
                          kPppLink = 9, kFddiLink = 10, kPppHdlcLink = 50, kPppoeLink = 51, kRawLink = 101,
                          kCiscoHdlcLink = 104, kWifiLink = 105, kLoopLink = 108, kCookedLink = 113, kPrismLink = 119,
                          kRadiotapLink = 127, kArcnetLinuxLink = 129, kAvsLink = 163, kPpiLink = 192,
                          kPppDirectionLink = 204, kIpv4Link = 228, kIpv6Link = 229, kNflogLink = 239, kIpoibLink = 242,
                          kPktapLink = 258, kCooked2Link = 276;

enum class ByteOrder { big, little };

// What an 802.11 data frame is like.
struct WifiFrame {
  bool four_addresses = false, qos = false, ht_control = false, aggregated = false, encrypted = false,
       without_data = false;
  uint8_t fragment = 0, priority = 0;
  bool padded = false;           // round the header up to 4 bytes, as a radiotap flag announces
  uint16_t subframe_bytes = 28;  // behind the header of an aggregate's first subframe
};

class PacketBuilder {
 public:
  PacketBuilder& raw(std::initializer_list<uint8_t> values);
  PacketBuilder& raw(std::span<const uint8_t> values);
  PacketBuilder& filled(size_t bytes, uint8_t value = 0);
  PacketBuilder& number16(uint16_t value, ByteOrder order = ByteOrder::big);
  PacketBuilder& number32(uint32_t value, ByteOrder order = ByteOrder::big);

  // Ethernet, tags, labels.
  PacketBuilder& ethernet(uint16_t length_or_type);
  PacketBuilder& vlan(uint16_t control, uint16_t next);
  PacketBuilder& vn_tag(uint16_t next);
  PacketBuilder& e_tag(uint16_t next);
  PacketBuilder& pbb(uint32_t service);  // an Ethernet header follows
  PacketBuilder& mpls(uint32_t label, bool bottom);
  PacketBuilder& nsh(uint8_t next, uint8_t context_words = 0);
  PacketBuilder& llc(uint8_t destination, uint8_t source, uint8_t control);
  PacketBuilder& snap(uint16_t protocol, uint32_t organization = 0);  // with the LLC header AA AA 03
  PacketBuilder& token_ring(uint8_t frame_control, uint8_t route_bytes = 0);
  PacketBuilder& fddi(uint8_t frame_control);

  // Point to point.
  PacketBuilder& pppoe(uint8_t code = 0, uint16_t bytes_behind = 0);
  PacketBuilder& ppp(uint16_t protocol);         // two bytes
  PacketBuilder& ppp_framed(uint16_t protocol);  // with FF 03
  PacketBuilder& cisco_hdlc(uint16_t ethertype);
  PacketBuilder& slip();

  // Radio.
  PacketBuilder& wifi(const WifiFrame& frame = {});  // LLC follows
  PacketBuilder& radiotap(std::initializer_list<uint32_t> present, std::initializer_list<uint8_t> fields);
  PacketBuilder& prism(ByteOrder order = ByteOrder::little);
  PacketBuilder& avs(uint32_t header_bytes = 64);
  PacketBuilder& ppi(uint32_t link_type, uint16_t header_bytes = 8);

  // Written by operating systems.
  PacketBuilder& family(uint32_t family, ByteOrder order);
  PacketBuilder& cooked(uint16_t protocol, uint16_t device = 1);
  PacketBuilder& cooked2(uint16_t protocol, uint16_t device = 1);
  PacketBuilder& nflog(uint8_t family);
  // A record of NFLOG without padding: `value_bytes` zeros follow, or, for the packet (type 9), what is appended next.
  PacketBuilder& nflog_record(uint16_t type, uint16_t value_bytes, ByteOrder order = ByteOrder::little);
  PacketBuilder& pktap(uint32_t link_type, uint32_t header_bytes = 108);
  PacketBuilder& ipoib(uint16_t ethertype);
  PacketBuilder& arcnet(uint8_t type);        // source, destination, type
  PacketBuilder& arcnet_linux(uint8_t type);  // the same with two bytes more before the type

  // IP. The first byte is version and header length; options are not added by it.
  PacketBuilder& ipv4(uint32_t source, uint32_t destination, uint8_t first_byte = 0x45);
  PacketBuilder& ipv6(uint8_t first_byte = 0x60);
  PacketBuilder& payload(size_t bytes) { return filled(bytes, 0xa5); }

  size_t size() const { return bytes_.size(); }
  const PacketBytes& bytes() const { return bytes_; }

 private:
  PacketBytes bytes_;
};

// A sound IPv4 packet, alone or in an untagged Ethernet frame of 64 bytes.
PacketBytes raw_ipv4_packet(uint32_t source, uint32_t destination, size_t payload_bytes = 44);
PacketBytes ethernet_ipv4_packet(uint32_t source, uint32_t destination, size_t payload_bytes = 30);

// The first `captured` bytes of a packet in a heap block that ends exactly there, so that AddressSanitizer sees whoever
// reads one byte too far.
class CapturedPacket {
 public:
  explicit CapturedPacket(std::span<const uint8_t> bytes) : CapturedPacket(bytes, bytes.size()) {}
  CapturedPacket(std::span<const uint8_t> bytes, size_t captured);
  const uint8_t* data() const { return data_.get(); }
  uint32_t captured() const { return captured_; }
  Packet packet(uint16_t link_type, int64_t time_ns = 0) const;

 private:
  std::unique_ptr<uint8_t[]> data_;
  uint32_t captured_;
  uint32_t original_;
};

}  // namespace trama
