// Frames with headers that operating systems and capture drivers write, and of links that are on their own.
#include "tests/modules/support/header_walk_cases.hpp"

namespace trama {
namespace {

using Frame = PacketBuilder;
constexpr ByteOrder kBig = ByteOrder::big, kLittle = ByteOrder::little;

void add_host(std::vector<WalkCase>& all) {
  WalkCaseList null(kNullLink), loop(kLoopLink);
  for (uint32_t family : {10u, 24u, 28u, 30u}) {
    null.ipv6("loopback, IPv6", Frame().family(family, kBig)).ipv6("loopback, IPv6", Frame().family(family, kLittle));
    loop.ipv6("OpenBSD loopback, IPv6", Frame().family(family, kBig));
  }
  null.ipv4("loopback, big-endian", Frame().family(2, kBig))
      .ipv4("loopback, little-endian", Frame().family(2, kLittle))
      .not_ip("loopback, AppleTalk", Frame().family(16, kLittle))
      .not_ip("loopback, a family above 16 bits", Frame().family(0x00020002, kBig))
      .move_to(all);
  loop.ipv4("OpenBSD loopback", Frame().family(2, kBig))
      .not_ip("OpenBSD loopback in the wrong order", Frame().family(2, kLittle))
      .move_to(all);
  const auto cooked = [&all](uint16_t link_type, auto header) {
    WalkCaseList(link_type)
        .ipv4("cooked", header(kIpv4Type, 1))
        .ipv6("cooked", header(kIpv6Type, 772))
        .ipv4("cooked, VLAN", header(kVlanType, 1).vlan(3, kIpv4Type))
        .ipv4("cooked, LLC", header(0x0004, 1).snap(kIpv4Type))
        .ipv4("cooked, radiotap", header(0x0019, 803).radiotap({0}, {}).wifi().snap(kIpv4Type))
        .not_ip("cooked, ARP", header(kArpType, 1))
        .not_ip("cooked, 802.3 without LLC", header(0x0001, 1))
        .not_ip("cooked, netlink", header(kIpv4Type, 824))
        .not_ip("cooked, frame relay", header(kIpv4Type, 770))
        .move_to(all);
  };
  cooked(kCookedLink, [](uint16_t protocol, uint16_t device) { return Frame().cooked(protocol, device); });
  cooked(kCooked2Link, [](uint16_t protocol, uint16_t device) { return Frame().cooked2(protocol, device); });
  WalkCaseList(kIpoibLink)
      .ipv4("IP over InfiniBand", Frame().ipoib(kIpv4Type))
      .not_ip("IP over InfiniBand, ARP", Frame().ipoib(kArpType))
      .move_to(all);
}

void add_records(std::vector<WalkCase>& all) {
  WalkCaseList nflog(kNflogLink);
  for (ByteOrder order : {kBig, kLittle}) {
    nflog
        .ipv4(
            "NFLOG with a prefix of 1 byte and padding",
            Frame().nflog(2).nflog_record(1, 4, order).nflog_record(10, 1, order).filled(3).nflog_record(9, 43, order))
        .ipv4("NFLOG with an empty record", Frame().nflog(2).nflog_record(3, 0, order).nflog_record(9, 43, order))
        .ipv6("NFLOG, IPv6", Frame().nflog(10).nflog_record(9, 63, order))
        .not_ip("NFLOG, record of length 3", Frame().nflog(2).number16(3, order).number16(9, order))
        .add("NFLOG, packet of 19 bytes", Frame().nflog(2).nflog_record(9, 19, order).ipv4(kSource, kDestination),
             Verdict::cut, SIZE_MAX)
        .add("NFLOG without a packet", Frame().nflog(2).nflog_record(1, 4, order).nflog_record(2, 4000, order),
             Verdict::cut, SIZE_MAX);
  }
  nflog.not_ip("NFLOG, bridge", Frame().nflog(7)).not_ip("NFLOG of version 1", Frame().raw({2, 1, 0, 0})).move_to(all);
  WalkCaseList(kPktapLink)
      .ipv4("PKTAP, Ethernet", Frame().pktap(kEthernetLink).ethernet(kIpv4Type))
      .ipv4("PKTAP, raw IP as macOS numbers it", Frame().pktap(12))
      .add("PKTAP, USER0", Frame().pktap(147), Verdict::unknown_link, 108)
      .add("PKTAP, number above 16 bits", Frame().pktap(0x10001).ethernet(kIpv4Type), Verdict::unknown_link, 108)
      .ipv4("PKTAP of the least length", Frame().pktap(kRawLink, 12))
      .not_ip("PKTAP of length 11", Frame().pktap(kEthernetLink, 11))
      .not_ip("PKTAP without packet", Frame().number32(108, kLittle).number32(0).number32(1, kLittle))
      .move_to(all);
  WalkCaseList(kArcnetLink)
      .ipv4("ARCNET, RFC 1051", Frame().arcnet(240))
      .ipv4("ARCNET, RFC 1201", Frame().arcnet(212).raw({0, 0, 1}))
      .ipv4("ARCNET, first fragment", Frame().arcnet(212).raw({1, 0, 1}))
      .ipv4("ARCNET, exception", Frame().arcnet(212).raw({0xff, 0xff, 0xff, 212, 0, 0, 1}))
      .ipv6("ARCNET, IPv6", Frame().arcnet(196).raw({0, 0, 1}))
      .not_ip("ARCNET, later fragment", Frame().arcnet(212).raw({2, 0, 1}))
      .not_ip("ARCNET, exception, later fragment", Frame().arcnet(212).raw({0xff, 0xff, 0xff, 212, 2, 0, 1}))
      .not_ip("ARCNET, ARP", Frame().arcnet(213))
      .move_to(all);
  WalkCaseList(kArcnetLinuxLink)
      .ipv4("ARCNET on Linux", Frame().arcnet_linux(212).raw({0, 0, 1}))
      .ipv4("ARCNET on Linux, RFC 1051", Frame().arcnet_linux(240))
      .not_ip("ARCNET on Linux, no exceptions", Frame().arcnet_linux(212).raw({0xff, 0, 1}))
      .move_to(all);
  WalkCaseList(kTokenRingLink)
      .ipv4("Token Ring", Frame().token_ring(0x40).snap(kIpv4Type))
      .ipv4("Token Ring with the least route", Frame().token_ring(0x40, 2).snap(kIpv4Type))
      .ipv4("Token Ring with a route", Frame().token_ring(0x40, 8).snap(kIpv4Type))
      .ipv4("Token Ring, source address odd", Frame().raw({0x10, 0x40}).filled(6).filled(6, 1).snap(kIpv4Type))
      .not_ip("Token Ring, route of odd length", Frame().token_ring(0x40, 5), 16)
      .not_ip("Token Ring, MAC frame", Frame().token_ring(0x00))
      .move_to(all);
  WalkCaseList(kFddiLink)
      .ipv4("FDDI", Frame().fddi(0x50).snap(kIpv4Type))
      .ipv4("FDDI with priority", Frame().fddi(0x57).snap(kIpv4Type))
      .ipv4("FDDI, synchronous", Frame().fddi(0xd4).snap(kIpv4Type))
      .not_ip("FDDI, token", Frame().fddi(0x80))
      .move_to(all);
}

void add_radio(std::vector<WalkCase>& all) {
  const auto wifi = [](WifiFrame frame) { return Frame().wifi(frame); };
  WalkCaseList(kWifiLink)
      .ipv4("802.11 data", wifi({}).snap(kIpv4Type))
      .ipv6("802.11 data, IPv6", wifi({}).snap(kIpv6Type))
      .ipv4("802.11, four addresses", wifi({.four_addresses = true}).snap(kIpv4Type))
      .ipv4("802.11, QoS", wifi({.qos = true}).snap(kIpv4Type))
      .ipv4("802.11, QoS and HT control", wifi({.qos = true, .ht_control = true}).snap(kIpv4Type))
      .ipv4("802.11, all of them",
            wifi({.four_addresses = true, .qos = true, .ht_control = true, .aggregated = true}).snap(kIpv4Type))
      .ipv4("802.11, QoS with a priority", wifi({.qos = true, .priority = 7}).snap(kIpv4Type))
      .ipv4("802.11, A-MSDU", wifi({.qos = true, .aggregated = true}).snap(kIpv4Type))
      .not_ip("802.11, ARP", wifi({}).snap(kArpType))
      .not_ip("802.11, encrypted", wifi({.encrypted = true}).snap(kIpv4Type), 2)
      .not_ip("802.11, no data", wifi({.qos = true, .without_data = true}), 2)
      .not_ip("802.11, later fragment", wifi({.fragment = 1}).snap(kIpv4Type), 24)
      .not_ip("802.11, beacon", Frame().raw({0x80, 0x00}))
      .not_ip("802.11, acknowledgement", Frame().raw({0xd4, 0x00}))
      .not_ip("802.11 of version 1", Frame().raw({0x09, 0x00}))
      .move_to(all);
  const auto padded = [] { return Frame().wifi({.qos = true, .padded = true}).snap(kIpv4Type); };
  const PacketBytes tail = padded().bytes();
  WalkCaseList(kRadiotapLink)
      .ipv4("radiotap, no fields", Frame().radiotap({0}, {}).wifi().snap(kIpv4Type))
      .ipv4("radiotap, flags without padding", Frame().radiotap({2}, {0x10}).wifi({.qos = true}).snap(kIpv4Type))
      .ipv4("radiotap, all flags but padding", Frame().radiotap({2}, {0xdf}).wifi({.qos = true}).snap(kIpv4Type))
      .ipv4("radiotap, time but no flags",
            Frame().radiotap({1}, {0, 0, 0, 0, 0, 0, 0, 0, 0x20}).wifi({.qos = true}).snap(kIpv4Type))
      .ipv4("radiotap, padded", Frame().radiotap({2}, {0x20}).raw(tail))
      .ipv4("radiotap, two words of bits", Frame().radiotap({0x80000002, 0}, {0x20}).raw(tail))
      .ipv4("radiotap, time before the flags", Frame().radiotap({3}, {0, 0, 0, 0, 0, 0, 0, 0, 0x20}).raw(tail))
      .ipv4("radiotap, three words of bits",
            Frame().radiotap({0x80000003, 0x80000000, 0}, {1, 2, 3, 4, 5, 6, 7, 8, 0x20}).raw(tail))
      .ipv4("radiotap, two words and a gap before the time",
            Frame().radiotap({0x80000003, 0}, {9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8, 0x20}).raw(tail))
      .not_ip("radiotap, bits without end", Frame().radiotap({0x80000002, 0x80000000}, {}))
      .not_ip("radiotap, bits cut by its end", Frame().radiotap({0x80000002}, {0, 0, 0}))
      .not_ip("radiotap, flags behind its end", Frame().radiotap({3}, {0, 0, 0, 0}))
      .not_ip("radiotap of version 1", Frame().raw({1, 0, 8, 0, 0, 0, 0, 0}))
      .not_ip("radiotap of length 7", Frame().raw({0, 0, 7, 0, 0, 0, 0, 0}))
      .move_to(all);
  WalkCaseList(kPrismLink)
      .ipv4("Prism", Frame().prism(kLittle).wifi().snap(kIpv4Type))
      .ipv4("Prism, big-endian", Frame().prism(kBig).wifi().snap(kIpv4Type))
      .ipv4("AVS under the number of Prism", Frame().avs().wifi().snap(kIpv4Type))
      .not_ip("Prism of another length", Frame().number32(0x44).number32(143))
      .move_to(all);
  WalkCaseList(kAvsLink)
      .ipv4("AVS", Frame().avs().wifi().snap(kIpv4Type))
      .ipv4("AVS of the least length", Frame().avs(8).wifi().snap(kIpv4Type))
      .not_ip("AVS of length 7", Frame().avs(7))
      .not_ip("AVS with another magic", Frame().number32(0x44).number32(64))
      .move_to(all);
  WalkCaseList(kPpiLink)
      .ipv4("PPI, 802.11", Frame().ppi(kWifiLink, 32).wifi().snap(kIpv4Type))
      .ipv4("PPI in PPI, Ethernet", Frame().ppi(kPpiLink).ppi(kEthernetLink).ethernet(kIpv4Type))
      .add("PPI, USER0", Frame().ppi(147), Verdict::unknown_link, 8)
      .add("PPI, number above 16 bits", Frame().ppi(0x10001), Verdict::unknown_link, 8)
      .not_ip("PPI of length 7", Frame().ppi(kWifiLink, 7))
      .not_ip("PPI of version 1", Frame().raw({1, 0, 8, 0, 105, 0, 0, 0}))
      .move_to(all);
}

}  // namespace

void add_host_cases(std::vector<WalkCase>& all) {
  add_host(all);
  add_records(all);
  add_radio(all);
}

}  // namespace trama
