// Inside of the header walk: the layers a packet can be in, the cursor that reads it, and one step function a layer.
//
// A step reads the header of its layer at the cursor, moves the cursor behind it, and says which layer follows. A step
// whose header isn't captured as a whole says `cut`; one that can't tell what follows says `not_ip`, and never guesses.
// Only header_walk*.cpp includes this.
#pragma once
#include <cstdint>

namespace trama::header_walk {

// The captured bytes that are still ahead. Offsets count from the current position; a read is allowed only after has()
// said that so many bytes are there.
class Cursor {
 public:
  Cursor(const uint8_t* data, uint32_t captured) : data_(data), left_(captured) {}
  const uint8_t* data() const { return data_; }
  bool has(uint32_t bytes) const { return left_ >= bytes; }
  uint8_t byte(uint32_t offset) const { return data_[offset]; }
  uint16_t big16(uint32_t offset) const { return static_cast<uint16_t>(data_[offset] << 8 | data_[offset + 1]); }
  uint16_t little16(uint32_t offset) const { return static_cast<uint16_t>(data_[offset + 1] << 8 | data_[offset]); }
  uint32_t big32(uint32_t offset) const { return uint32_t{big16(offset)} << 16 | big16(offset + 2); }
  uint32_t little32(uint32_t offset) const { return uint32_t{little16(offset + 2)} << 16 | little16(offset); }
  // False, and nothing moves, when fewer bytes are left.
  bool skip(uint32_t bytes) {
    if (left_ < bytes) return false;
    data_ += bytes;
    left_ -= bytes;
    return true;
  }
  // What is behind so many bytes doesn't belong to the packet any more.
  void limit(uint32_t bytes) {
    if (left_ > bytes) left_ = bytes;
  }

 private:
  const uint8_t* data_;
  uint32_t left_;
};

enum class Layer : uint8_t {
  // The walk ends here.
  ipv4,
  ipv6,
  cut,
  not_ip,
  malformed,
  unknown_link,
  // The walk goes on with a step; is_end() relies on the order.
  arcnet_bsd,
  arcnet_linux,
  avs,
  bsd_loop,
  bsd_null,
  cisco_hdlc,
  cooked,
  cooked2,
  e_tag,
  ethernet,
  fddi,
  ipoib,
  llc,
  mpls,
  nflog,
  nsh,
  pbb,
  pktap,
  ppi,
  ppp,
  ppp_direction,
  ppp_hdlc,
  pppoe,
  prism,
  radiotap,
  raw_ip,
  slip,
  token_ring,
  vlan,
  vn_tag,
  wifi,
  wifi_padded,
};
constexpr bool is_end(Layer layer) { return layer <= Layer::unknown_link; }

// header_walk.cpp: where packets of a link type begin; unknown_link when it isn't walked.
Layer first_layer(uint32_t link_type);

// header_walk_ethernet.cpp
Layer layer_of_ethertype(uint16_t ethertype);
Layer walk_ethernet(Cursor& at);
Layer walk_vlan(Cursor& at);
Layer walk_pbb(Cursor& at);
Layer walk_e_tag(Cursor& at);
Layer walk_vn_tag(Cursor& at);
Layer walk_mpls(Cursor& at);
Layer walk_nsh(Cursor& at);
Layer walk_llc(Cursor& at);
Layer walk_token_ring(Cursor& at);
Layer walk_fddi(Cursor& at);

// header_walk_ppp.cpp
Layer walk_ppp(Cursor& at);
Layer walk_ppp_direction(Cursor& at);
Layer walk_ppp_hdlc(Cursor& at);
Layer walk_pppoe(Cursor& at);
Layer walk_cisco_hdlc(Cursor& at);
Layer walk_slip(Cursor& at);

// header_walk_wifi.cpp
Layer walk_wifi(Cursor& at, bool padded);
Layer walk_radiotap(Cursor& at);
Layer walk_prism(Cursor& at);
Layer walk_avs(Cursor& at);

// header_walk_host.cpp: headers that an operating system writes in front of its packets
Layer walk_raw_ip(Cursor& at);
Layer walk_bsd_null(Cursor& at);
Layer walk_bsd_loop(Cursor& at);
Layer walk_cooked(Cursor& at);
Layer walk_cooked2(Cursor& at);
Layer walk_nflog(Cursor& at);
Layer walk_pktap(Cursor& at);
Layer walk_ppi(Cursor& at);
Layer walk_ipoib(Cursor& at);
Layer walk_arcnet_bsd(Cursor& at);
Layer walk_arcnet_linux(Cursor& at);

}  // namespace trama::header_walk
