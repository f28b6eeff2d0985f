// The table of link types, the loop over layers, and the judgement of the IP header (RFC 791, RFC 8200).
#include "modules/support/header_walk.hpp"

#include <array>
#include <cstddef>
#include <cstdio>

#include "modules/support/header_walk_layers.hpp"

namespace trama {
namespace header_walk {
namespace {

struct LinkType {
  uint16_t number;
  Layer first;
  const char* name;  // as tcpdump -L writes it, and what it is
};

// https://www.tcpdump.org/linktypes.html; 12 and 14 are what 101 is called inside of programs (DLT_RAW), and some write
// that into files.
constexpr LinkType kLinkTypes[] = {
    {0, Layer::bsd_null, "NULL (BSD loopback)"},
    {1, Layer::ethernet, "EN10MB (Ethernet)"},
    {6, Layer::token_ring, "IEEE802 (Token Ring)"},
    {7, Layer::arcnet_bsd, "ARCNET (ARCNET, BSD)"},
    {8, Layer::slip, "SLIP (serial line IP)"},
    {9, Layer::ppp, "PPP (PPP)"},
    {10, Layer::fddi, "FDDI (FDDI)"},
    {12, Layer::raw_ip, "RAW (raw IP)"},
    {14, Layer::raw_ip, "RAW (raw IP)"},
    {50, Layer::ppp_hdlc, "PPP_SERIAL (PPP over serial)"},
    {51, Layer::pppoe, "PPP_ETHER (PPPoE)"},
    {101, Layer::raw_ip, "RAW (raw IP)"},
    {104, Layer::cisco_hdlc, "C_HDLC (Cisco HDLC)"},
    {105, Layer::wifi, "IEEE802_11 (802.11)"},
    {108, Layer::bsd_loop, "LOOP (OpenBSD loopback)"},
    {113, Layer::cooked, "LINUX_SLL (Linux cooked v1)"},
    {119, Layer::prism, "PRISM_HEADER (802.11 plus Prism header)"},
    {127, Layer::radiotap, "IEEE802_11_RADIO (802.11 plus radiotap header)"},
    {129, Layer::arcnet_linux, "ARCNET_LINUX (ARCNET, Linux)"},
    {163, Layer::avs, "IEEE802_11_RADIO_AVS (802.11 plus AVS header)"},
    {192, Layer::ppi, "PPI (per-packet information)"},
    {204, Layer::ppp_direction, "PPP_WITH_DIR (PPP with direction)"},
    {228, Layer::ipv4, "IPV4 (raw IPv4)"},
    {229, Layer::ipv6, "IPV6 (raw IPv6)"},
    {239, Layer::nflog, "NFLOG (Linux netfilter log)"},
    {242, Layer::ipoib, "IPOIB (IP over InfiniBand)"},
    {258, Layer::pktap, "PKTAP (Apple PKTAP)"},
    {276, Layer::cooked2, "LINUX_SLL2 (Linux cooked v2)"},
};
constexpr size_t kNumbers = 277;

constexpr std::array<Layer, kNumbers> first_layers() {
  std::array<Layer, kNumbers> layers{};
  layers.fill(Layer::unknown_link);
  for (const LinkType& type : kLinkTypes) layers[type.number] = type.first;
  return layers;
}
constexpr std::array<Layer, kNumbers> kFirstLayers = first_layers();

Layer step(Layer layer, Cursor& at) {
  switch (layer) {
    case Layer::arcnet_bsd: return walk_arcnet_bsd(at);
    case Layer::arcnet_linux: return walk_arcnet_linux(at);
    case Layer::avs: return walk_avs(at);
    case Layer::bsd_loop: return walk_bsd_loop(at);
    case Layer::bsd_null: return walk_bsd_null(at);
    case Layer::cisco_hdlc: return walk_cisco_hdlc(at);
    case Layer::cooked: return walk_cooked(at);
    case Layer::cooked2: return walk_cooked2(at);
    case Layer::e_tag: return walk_e_tag(at);
    case Layer::ethernet: return walk_ethernet(at);
    case Layer::fddi: return walk_fddi(at);
    case Layer::ipoib: return walk_ipoib(at);
    case Layer::llc: return walk_llc(at);
    case Layer::mpls: return walk_mpls(at);
    case Layer::nflog: return walk_nflog(at);
    case Layer::nsh: return walk_nsh(at);
    case Layer::pbb: return walk_pbb(at);
    case Layer::pktap: return walk_pktap(at);
    case Layer::ppi: return walk_ppi(at);
    case Layer::ppp: return walk_ppp(at);
    case Layer::ppp_direction: return walk_ppp_direction(at);
    case Layer::ppp_hdlc: return walk_ppp_hdlc(at);
    case Layer::pppoe: return walk_pppoe(at);
    case Layer::prism: return walk_prism(at);
    case Layer::radiotap: return walk_radiotap(at);
    case Layer::raw_ip: return walk_raw_ip(at);
    case Layer::slip: return walk_slip(at);
    case Layer::token_ring: return walk_token_ring(at);
    case Layer::vlan: return walk_vlan(at);
    case Layer::vn_tag: return walk_vn_tag(at);
    case Layer::wifi: return walk_wifi(at, false);
    case Layer::wifi_padded: return walk_wifi(at, true);
    case Layer::ipv4:
    case Layer::ipv6:
    case Layer::cut:
    case Layer::not_ip:
    case Layer::malformed:
    case Layer::unknown_link: break;
  }
  return layer;
}

FoundHeader judge_ipv4(const Cursor& at) {
  if (!at.has(20)) return {nullptr, Verdict::cut};
  const uint8_t version = at.byte(0) >> 4, words = at.byte(0) & 15;
  if (version != 4 || words < 5) return {nullptr, Verdict::malformed};
  return {at.data(), Verdict::counted};
}

FoundHeader judge_ipv6(const Cursor& at) {
  if (!at.has(40)) return {nullptr, Verdict::cut};
  return {nullptr, at.byte(0) >> 4 == 6 ? Verdict::ipv6 : Verdict::malformed};
}

}  // namespace

Layer first_layer(uint32_t link_type) { return link_type < kNumbers ? kFirstLayers[link_type] : Layer::unknown_link; }

}  // namespace header_walk

FoundHeader find_header(uint16_t link_type, const uint8_t* data, uint32_t captured) {
  using header_walk::Layer;
  header_walk::Cursor at(data, captured);
  Layer layer = header_walk::first_layer(link_type);
  while (!is_end(layer)) layer = header_walk::step(layer, at);
  switch (layer) {
    case Layer::ipv4: return header_walk::judge_ipv4(at);
    case Layer::ipv6: return header_walk::judge_ipv6(at);
    case Layer::cut: return {nullptr, Verdict::cut};
    case Layer::malformed: return {nullptr, Verdict::malformed};
    case Layer::unknown_link: return {nullptr, Verdict::unknown_link};
    default: return {nullptr, Verdict::not_ip};
  }
}

bool walks(uint16_t link_type) { return header_walk::first_layer(link_type) != header_walk::Layer::unknown_link; }

const char* link_type_name(uint16_t link_type) {
  for (const header_walk::LinkType& type : header_walk::kLinkTypes) {
    if (type.number == link_type) return type.name;
  }
  thread_local char number[sizeof "link type 65535"];
  std::snprintf(number, sizeof number, "link type %u", unsigned{link_type});
  return number;
}

}  // namespace trama
