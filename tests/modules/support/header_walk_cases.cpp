// Frames of local networks and of point-to-point links.
#include "tests/modules/support/header_walk_cases.hpp"

namespace trama {
namespace {

using Frame = PacketBuilder;

void add_ip_headers(std::vector<WalkCase>& all) {
  const auto ethernet = [] { return Frame().ethernet(kIpv4Type); };
  const auto ethernet6 = [] { return Frame().ethernet(kIpv6Type); };
  WalkCaseList(kEthernetLink)
      .add("IPv4 with the longest options", ethernet().ipv4(kSource, kDestination, 0x4f), Verdict::counted, 34)
      .add("IPv4 with header length 4 words", ethernet().ipv4(kSource, kDestination, 0x44), Verdict::malformed, 34)
      .add("IPv4 with header length 0", ethernet().ipv4(kSource, kDestination, 0x40), Verdict::malformed, 34)
      .add("IPv4 ethertype, version 5", ethernet().ipv4(kSource, kDestination, 0x55), Verdict::malformed, 34)
      .add("IPv4 ethertype, version 6", ethernet().ipv4(kSource, kDestination, 0x65), Verdict::malformed, 34)
      .add("IPv6 ethertype, version 4", ethernet6().ipv6(0x45), Verdict::malformed, 54)
      .add("IPv6 ethertype, version 7", ethernet6().ipv6(0x70), Verdict::malformed, 54)
      .move_to(all);
  for (uint16_t link_type : {uint16_t{12}, uint16_t{14}, kRawLink}) {
    WalkCaseList(link_type)
        .ipv4("raw IPv4", {})
        .ipv6("raw IPv6", {})
        .add("raw, version 4, header length 3", Frame().ipv4(kSource, kDestination, 0x43), Verdict::malformed, 20)
        .add("raw, version 0", Frame().ipv4(kSource, kDestination, 0x05), Verdict::malformed, 1)
        .add("raw, version 3", Frame().raw({0x30}), Verdict::malformed, 1)
        .move_to(all);
  }
  WalkCaseList(kIpv4Link)
      .ipv4("IPv4 link", {})
      .add("IPv6 on an IPv4 link", Frame().ipv6(), Verdict::malformed, 20)
      .move_to(all);
  WalkCaseList(kIpv6Link)
      .ipv6("IPv6 link", {})
      .add("IPv4 on an IPv6 link", Frame().ipv4(kSource, kDestination).filled(20), Verdict::malformed, 40)
      .move_to(all);
}

void add_ethernet(std::vector<WalkCase>& all) {
  WalkCaseList ethernet(kEthernetLink);
  ethernet.ipv4("Ethernet", Frame().ethernet(kIpv4Type))
      .ipv6("Ethernet, IPv6", Frame().ethernet(kIpv6Type))
      .not_ip("Ethernet, ARP", Frame().ethernet(kArpType))
      .not_ip("Ethernet, MACsec", Frame().ethernet(0x88e5))
      .not_ip("Ethernet, between length and type", Frame().ethernet(1535))
      .not_ip("Ethernet, one above the greatest length", Frame().ethernet(1501).snap(kIpv4Type), 14)
      .ipv4("802.3 with LLC/SNAP", Frame().ethernet(60).snap(kIpv4Type))
      .ipv4("802.3 of the greatest length", Frame().ethernet(1500).snap(kIpv4Type))
      .ipv6("802.3 with LLC/SNAP, IPv6", Frame().ethernet(60).snap(kIpv6Type))
      .ipv4("802.3 with bridge-tunnel SNAP", Frame().ethernet(60).snap(kIpv4Type, 0x0000f8))
      .ipv4("802.3 with SNAP and a tag", Frame().ethernet(60).snap(kVlanType).vlan(1, kIpv4Type))
      .ipv4("802.3 with LLC for IP", Frame().ethernet(60).llc(0x06, 0x06, 0x03))
      .not_ip("802.3, SNAP of an organization", Frame().ethernet(60).snap(kIpv4Type, 0x00000c))
      .not_ip("802.3, SNAP of an organization that ends in F8", Frame().ethernet(60).snap(kIpv4Type, 0x0001f8))
      .not_ip("802.3, spanning tree", Frame().ethernet(38).llc(0x42, 0x42, 0x03))
      .not_ip("802.3, SNAP with another control", Frame().ethernet(60).llc(0xaa, 0xaa, 0x13))
      .not_ip("802.3, Novell without LLC", Frame().ethernet(60).llc(0xff, 0xff, 0x00));
  for (uint16_t tag : {kVlanType, kServiceVlanType, kOldVlanType, kOtherVlanType}) {
    ethernet.ipv4("one VLAN tag", Frame().ethernet(tag).vlan(0xf005, kIpv4Type))
        .ipv4("three VLAN tags", Frame().ethernet(tag).vlan(1, tag).vlan(2, kVlanType).vlan(3, kIpv4Type))
        .not_ip("VLAN, ARP", Frame().ethernet(tag).vlan(1, kArpType))
        .ipv6("VLAN, IPv6", Frame().ethernet(tag).vlan(0, kIpv6Type));
  }
  ethernet.ipv4("VLAN, 802.3", Frame().ethernet(kVlanType).vlan(1, 60).snap(kIpv4Type))
      .ipv4("VN-Tag and VLAN", Frame().ethernet(kVnTagType).vn_tag(kVlanType).vlan(1, kIpv4Type))
      .ipv4("E-tag", Frame().ethernet(kETagType).e_tag(kIpv4Type))
      .not_ip("E-tag, ARP", Frame().ethernet(kETagType).e_tag(kArpType))
      .ipv4("PBB", Frame().ethernet(kServiceVlanType).vlan(1, kPbbType).pbb(7).ethernet(kIpv4Type))
      .ipv4("NSH, IPv4", Frame().ethernet(kNshType).nsh(1, 4))
      .ipv6("NSH, IPv6", Frame().ethernet(kNshType).nsh(2))
      .ipv4("NSH, Ethernet", Frame().ethernet(kNshType).nsh(3).ethernet(kIpv4Type))
      .ipv4("NSH in NSH, MPLS", Frame().ethernet(kNshType).nsh(4, 1).nsh(5).mpls(16, true))
      .not_ip("NSH, unknown next", Frame().ethernet(kNshType).nsh(6))
      .not_ip("NSH of length 1", Frame().ethernet(kNshType).raw({0, 1, 2, 1, 0, 0, 1, 255}), 18)
      .not_ip("NSH of version 1", Frame().ethernet(kNshType).raw({0x40, 2, 2, 1, 0, 0, 1, 255}), 18)
      .move_to(all);
}

void add_labels_and_sessions(std::vector<WalkCase>& all) {
  const auto mpls = [] { return Frame().ethernet(kMplsType).mpls(16, false).mpls(17, true); };
  const auto pppoe = [] { return Frame().ethernet(kPppoeType).pppoe(); };
  WalkCaseList(kEthernetLink)
      .ipv4("MPLS, one label", Frame().ethernet(kMplsType).mpls(16, true))
      .ipv4("MPLS, two labels", mpls())
      .ipv6("MPLS, IPv6", mpls())
      .ipv4("MPLS multicast in VLAN", Frame().ethernet(kVlanType).vlan(9, kMplsMulticastType).mpls(16, true))
      .not_ip("MPLS, pseudowire with control word", mpls().filled(4), 23)
      .add("MPLS, header length 1", mpls().ipv4(kSource, kDestination, 0x41), Verdict::malformed, 42)
      .ipv4("PPPoE", pppoe().ppp(0x0021))
      .ipv6("PPPoE, IPv6", pppoe().ppp(0x0057))
      .ipv4("PPPoE in two VLAN tags",
            Frame().ethernet(kServiceVlanType).vlan(1, kVlanType).vlan(2, kPppoeType).pppoe().ppp(0x0021))
      .not_ip("PPPoE, LCP", pppoe().ppp(0xc021))
      .not_ip("PPPoE session with a discovery code", Frame().ethernet(kPppoeType).pppoe(0xa7))
      .not_ip("PPPoE of version 2", Frame().ethernet(kPppoeType).raw({0x21, 0, 0, 7, 0, 0}))
      .not_ip("PPPoE discovery", Frame().ethernet(kPppoeDiscoveryType))
      .move_to(all);
  WalkCaseList(kPppoeLink)
      .ipv4("PPPoE link", Frame().pppoe().ppp(0x0021))
      .not_ip("PADI", Frame().pppoe(9))
      .move_to(all);
}

void add_point_to_point(std::vector<WalkCase>& all) {
  for (uint16_t link_type : {kPppLink, kPppHdlcLink}) {
    WalkCaseList(link_type)
        .ipv4("PPP framed", Frame().ppp_framed(0x0021))
        .ipv4("PPP", Frame().ppp(0x0021))
        .ipv4("PPP, protocol in one byte", Frame().raw({0x21}))
        .ipv6("PPP framed, protocol in one byte", Frame().raw({0xff, 0x03, 0x57}))
        .ipv4("PPP, MPLS", Frame().ppp_framed(0x0281).mpls(16, true))
        .ipv4("PPP, MPLS multicast", Frame().ppp_framed(0x0283).mpls(16, true))
        .not_ip("PPP, compressed TCP", Frame().ppp_framed(0x002d))
        .not_ip("PPP, multilink", Frame().raw({0x3d}))
        .not_ip("PPP framed, multilink", Frame().raw({0xff, 0x03, 0x3d}))
        .not_ip("PPP with a broken control field", Frame().raw({0xff, 0x5f, 0x7e, 0x08, 0x00, 0x45}), 2)
        .move_to(all);
  }
  WalkCaseList(kPppHdlcLink)
      .ipv4("Cisco HDLC on a PPP link", Frame().cisco_hdlc(kIpv4Type))
      .ipv4("Cisco HDLC broadcast on a PPP link", Frame().raw({0x8f, 0}).number16(kIpv4Type))
      .move_to(all);
  WalkCaseList(kPppLink).not_ip("0x0f is a protocol on a pure PPP link", Frame().cisco_hdlc(kIpv4Type), 1).move_to(all);
  WalkCaseList(kPppDirectionLink)
      .ipv4("PPP with direction", Frame().raw({1}).ppp_framed(0x0021))
      .not_ip("PPP with direction, LCP", Frame().raw({0}).ppp_framed(0xc021))
      .move_to(all);
  WalkCaseList(kCiscoHdlcLink)
      .ipv4("Cisco HDLC", Frame().cisco_hdlc(kIpv4Type))
      .ipv4("Cisco HDLC, MPLS", Frame().cisco_hdlc(kMplsType).mpls(16, true))
      .not_ip("Cisco HDLC, SLARP", Frame().cisco_hdlc(0x8035))
      .not_ip("Cisco HDLC has no lengths", Frame().cisco_hdlc(60).llc(0x06, 0x06, 0x03), 4)
      .move_to(all);
  WalkCaseList(kSlipLink)
      .ipv4("SLIP", Frame().slip())
      .add("SLIP, version 14", Frame().slip().raw({0xe7}), Verdict::malformed, 17)
      .move_to(all);
}

}  // namespace

std::vector<WalkCase> walk_cases() {
  std::vector<WalkCase> all;
  add_ip_headers(all);
  add_ethernet(all);
  add_labels_and_sessions(all);
  add_point_to_point(all);
  add_host_cases(all);
  for (uint16_t link_type : {uint16_t{2}, uint16_t{147}, uint16_t{160}, uint16_t{277}, uint16_t{65535}}) {
    all.push_back({"not walked", link_type, Frame().ethernet(kIpv4Type), Verdict::unknown_link, 0});
  }
  return all;
}

}  // namespace trama
