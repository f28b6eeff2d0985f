// Random frames of every link type that the header walk knows: any stack of tags, labels and sessions, IP headers right
// and wrong, dead ends, and dead ends behind which an IPv4 header stands that nobody announces.
//
// What tshark judges by other rules is left out, kind by kind: docs/counting.md, "Compared with tshark".
#pragma once
#include <span>

#include "tests/end_to_end/random_captures/dice.hpp"

namespace trama::test {

struct RandomFrame {
  PacketBytes bytes;      // what was captured
  uint32_t original = 0;  // bytes on the wire
};

class FrameMaker {
 public:
  explicit FrameMaker(Dice& dice) : dice_(dice) {}
  // A frame of a link type in link_types(), maybe cut, for a file or section of that byte order.
  RandomFrame frame(uint16_t link_type, ByteOrder file_order);
  // Those that are walked, and a few that are not.
  static std::span<const uint16_t> link_types();

 private:
  static constexpr unsigned kDeepest = 6;  // tags and the like around each other
  static constexpr uint32_t kLeastDeadBytes = 4;
  static PacketBytes joined(const PacketBuilder& header, const PacketBytes& content) {
    return PacketBuilder(header).raw(content).bytes();
  }
  // random_frames.cpp
  PacketBytes whole(uint16_t link_type);
  uint32_t place_of_cut(uint32_t size, uint32_t least);
  PacketBytes host_frame(uint16_t link_type);
  PacketBytes radio_frame(uint16_t link_type);
  PacketBytes local_frame(uint16_t link_type);
  PacketBytes wifi(bool padded);
  PacketBytes radiotap();

  // random_headers.cpp
  PacketBytes ipv4();
  PacketBytes ipv4_options(size_t bytes);
  PacketBytes wrong_ipv4();
  PacketBytes ipv6();
  PacketBytes wrong_ipv6();
  PacketBytes dead_end();  // bytes that nothing announces as IP, and that often look like it
  PacketBytes raw_ip();

  // Headers that are chosen before what follows them is: `depth` says how many tags are around.
  uint16_t any_type(unsigned depth);
  uint16_t any_dead_type();  // an ethertype that leads nowhere
  PacketBytes of_type(uint16_t type, unsigned depth);
  PacketBytes ethernet(unsigned depth);
  PacketBytes length_or_type(PacketBuilder header, unsigned depth);  // and what it announces
  PacketBytes typed(PacketBuilder header, unsigned depth);
  PacketBytes llc(unsigned depth);
  PacketBytes mpls();
  PacketBytes nsh(unsigned depth);
  PacketBytes pppoe();
  PacketBytes ppp(bool may_be_framed);

  Dice& dice_;
  ByteOrder file_order_ = ByteOrder::little;
  bool may_be_cut_ = true;   // the frame being made
  uint32_t dead_bytes_ = 0;  // at its end: what no header announces as IP
};

}  // namespace trama::test
