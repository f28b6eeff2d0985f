// The header walk: each frame of header_walk_cases.cpp whole and cut at every byte, then rules that hold for any bytes.
#include "modules/support/header_walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tests/modules/support/header_walk_cases.hpp"

namespace trama {

std::ostream& operator<<(std::ostream& out, const Walked& walked) {
  return out << "verdict " << int{static_cast<uint8_t>(walked.verdict)} << ", pair " << std::hex << walked.source << " "
             << walked.destination << std::dec;
}

namespace {

constexpr uint64_t kWalkSeed = 20240611;

// The verdict of the first `captured` bytes, in a buffer that ends there; the way layer by layer must lead to the same.
Walked walk_exactly(uint16_t link_type, std::span<const uint8_t> frame, size_t captured) {
  const CapturedPacket packet(frame, captured);
  const Walked walked = walk(link_type, packet.data(), packet.captured());
  const FoundHeader found = find_header(link_type, packet.data(), packet.captured());
  EXPECT_EQ(found.verdict, walked.verdict);
  EXPECT_EQ(found.ipv4 != nullptr, walked.verdict == Verdict::counted);
  if (found.ipv4 != nullptr) {
    const PacketBytes pair = PacketBuilder().number32(walked.source).number32(walked.destination).bytes();
    EXPECT_TRUE(std::equal(pair.begin(), pair.end(), found.ipv4 + 12));
  }
  return walked;
}

Walked walk_exactly(uint16_t link_type, std::span<const uint8_t> frame) {
  return walk_exactly(link_type, frame, frame.size());
}

Walked expected(const WalkCase& one) {
  return one.verdict == Verdict::counted ? Walked{one.verdict, kSource, kDestination} : Walked{one.verdict};
}

std::string described(const WalkCase& one, size_t captured) {
  return one.words + " on " + link_type_name(one.link_type) + ", " + std::to_string(captured) + " of " +
         std::to_string(one.frame.size()) + " bytes";
}

TEST(HeaderWalk, JudgesEveryKindOfFrame) {
  for (const WalkCase& one : walk_cases()) {
    EXPECT_EQ(walk_exactly(one.link_type, one.frame.bytes()), expected(one)) << described(one, one.frame.size());
  }
}

TEST(HeaderWalk, SaysCutUntilItCanJudgeAndNeverChangesItsMind) {
  for (const WalkCase& one : walk_cases()) {
    for (size_t captured = 0; captured <= one.frame.size(); ++captured) {
      const Walked right = captured < one.judged_bytes ? Walked{Verdict::cut} : expected(one);
      ASSERT_EQ(walk_exactly(one.link_type, one.frame.bytes(), captured), right) << described(one, captured);
    }
  }
}

TEST(HeaderWalk, HasACaseForEveryLinkTypeItWalks) {
  const std::vector<WalkCase> cases = walk_cases();
  for (uint32_t number = 0; number <= 0xffff; ++number) {
    const auto link_type = static_cast<uint16_t>(number);
    const bool counts = std::any_of(cases.begin(), cases.end(), [&](const WalkCase& one) {
      return one.link_type == link_type && one.verdict != Verdict::unknown_link;
    });
    EXPECT_EQ(walks(link_type), counts) << number;
    EXPECT_EQ(walk(link_type, nullptr, 0).verdict, walks(link_type) ? Verdict::cut : Verdict::unknown_link) << number;
  }
}

TEST(HeaderWalk, NamesLinkTypes) {
  EXPECT_STREQ(link_type_name(1), "EN10MB (Ethernet)");
  EXPECT_STREQ(link_type_name(276), "LINUX_SLL2 (Linux cooked v2)");
  EXPECT_STREQ(link_type_name(147), "link type 147");
  EXPECT_STREQ(link_type_name(65535), "link type 65535");
}

TEST(HeaderWalk, ReadsAddressesAsNumbers) {
  for (uint32_t address : {0u, 1u, 0x01020304u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    for (uint32_t other : {0u, 0x0a000001u, 0xffffffffu}) {
      EXPECT_EQ(walk_exactly(kRawLink, raw_ipv4_packet(address, other)), (Walked{Verdict::counted, address, other}));
      EXPECT_EQ(walk_exactly(kEthernetLink, ethernet_ipv4_packet(address, other)),
                (Walked{Verdict::counted, address, other}));
    }
  }
}

// Only version, header length and addresses are looked at: every other bit of an IPv4 header may have any value.
TEST(HeaderWalk, JudgesNeitherLengthNorChecksumNorFragment) {
  std::mt19937_64 random(kWalkSeed);
  SCOPED_TRACE("seed " + std::to_string(kWalkSeed));
  for (int round = 0; round < 2000; ++round) {
    PacketBytes bytes = raw_ipv4_packet(kSource, kDestination, random() % 40);
    bytes[0] = static_cast<uint8_t>(0x45 + random() % 11);
    for (size_t i = 1; i < 12; ++i) bytes[i] = static_cast<uint8_t>(random());
    ASSERT_EQ(walk_exactly(kRawLink, bytes), (Walked{Verdict::counted, kSource, kDestination}));
  }
}

// The outermost header counts, whatever is inside.
TEST(HeaderWalk, EntersNoTunnel) {
  const auto outer = [] { return PacketBuilder().ethernet(kIpv4Type).ipv4(kSource, kDestination); };
  const Walked outermost{Verdict::counted, kSource, kDestination};
  PacketBytes ip_in_ip = outer().ipv4(0x01010101, 0x02020202).bytes();
  ip_in_ip[14 + 9] = 4;
  EXPECT_EQ(walk_exactly(kEthernetLink, ip_in_ip), outermost);
  PacketBytes gre = outer().number16(0).number16(kIpv4Type).ipv4(0x01010101, 0x02020202).bytes();
  gre[14 + 9] = 47;
  EXPECT_EQ(walk_exactly(kEthernetLink, gre), outermost);
  const PacketBytes in_ipv6 = PacketBuilder().ethernet(kIpv6Type).ipv6().ipv4(kSource, kDestination).bytes();
  EXPECT_EQ(walk_exactly(kEthernetLink, in_ipv6), Walked{Verdict::ipv6});
}

// Appends a random tag, label or header behind an Ethernet header, and says which ethertype announces it.
struct TagMaker {
  std::mt19937_64& random;
  PacketBuilder make(unsigned depth) {
    PacketBuilder frame;
    std::vector<unsigned> kinds;
    for (unsigned i = 0; i < depth; ++i) kinds.push_back(static_cast<unsigned>(random() % 7));
    frame.ethernet(type_of(kinds, 0));
    for (unsigned i = 0; i < depth; ++i) append(frame, kinds, i);
    return frame.ipv4(kSource, kDestination);
  }
  static uint16_t type_of(const std::vector<unsigned>& kinds, size_t i) {
    constexpr uint16_t kTypes[] = {kVlanType, kServiceVlanType, kOldVlanType, kVnTagType, kETagType, kPbbType, 60};
    return i == kinds.size() ? kIpv4Type : kTypes[kinds[i]];
  }
  void append(PacketBuilder& frame, const std::vector<unsigned>& kinds, size_t i) {
    const uint16_t next = type_of(kinds, i + 1);
    switch (kinds[i]) {
      case 3: frame.vn_tag(next); break;
      case 4: frame.e_tag(next); break;
      case 5: frame.pbb(static_cast<uint32_t>(random())).ethernet(next); break;
      // SNAP holds an ethertype and never a length: a tag stands between it and another LLC header.
      case 6: next == 60 ? frame.snap(kVlanType).vlan(1, next) : frame.snap(next); break;
      default: frame.vlan(static_cast<uint16_t>(random()), next); break;
    }
  }
};

TEST(HeaderWalk, WalksAnyMixOfTags) {
  std::mt19937_64 random(kWalkSeed);
  SCOPED_TRACE("seed " + std::to_string(kWalkSeed));
  for (unsigned round = 0; round < 3000; ++round) {
    const PacketBuilder frame = TagMaker{random}.make(round % 20);
    ASSERT_EQ(walk_exactly(kEthernetLink, frame.bytes()), (Walked{Verdict::counted, kSource, kDestination})) << round;
    ASSERT_EQ(walk_exactly(kEthernetLink, frame.bytes(), random() % frame.size()), Walked{Verdict::cut}) << round;
  }
}

TEST(HeaderWalk, EndsHoweverLongTheStackIs) {
  constexpr int kDeep = 50000;
  PacketBuilder vlan, labels, nested;
  vlan.ethernet(kVlanType);
  labels.ethernet(kMplsType);
  for (int i = 0; i < kDeep; ++i) {
    vlan.vlan(1, kVlanType);
    labels.mpls(16, false);
    nested.ppi(kPpiLink);
  }
  EXPECT_EQ(walk_exactly(kEthernetLink, vlan.bytes()), Walked{Verdict::cut});
  EXPECT_EQ(walk_exactly(kEthernetLink, labels.bytes()), Walked{Verdict::cut});
  EXPECT_EQ(walk_exactly(kPpiLink, nested.bytes()), Walked{Verdict::cut});
  const Walked right{Verdict::counted, kSource, kDestination};
  EXPECT_EQ(walk_exactly(kEthernetLink, vlan.vlan(1, kIpv4Type).ipv4(kSource, kDestination).bytes()), right);
  EXPECT_EQ(walk_exactly(kEthernetLink, labels.mpls(16, true).ipv4(kSource, kDestination).bytes()), right);
  EXPECT_EQ(walk_exactly(kPpiLink, nested.ppi(kRawLink).ipv4(kSource, kDestination).bytes()), right);
}

// What must hold for any bytes: a verdict that the walk may give; addresses that stand in the packet side by side; and
// every shorter capture of the same packet gives the same or `cut`.
void check_rules(uint16_t link_type, const PacketBytes& bytes, size_t shorter) {
  const Walked whole = walk_exactly(link_type, bytes);
  switch (whole.verdict) {
    case Verdict::counted: {
      const PacketBytes pair = PacketBuilder().number32(whole.source).number32(whole.destination).bytes();
      EXPECT_NE(std::search(bytes.begin(), bytes.end(), pair.begin(), pair.end()), bytes.end());
      break;
    }
    case Verdict::ipv6:
    case Verdict::not_ip:
    case Verdict::malformed:
    case Verdict::cut:
    case Verdict::unknown_link: EXPECT_EQ(whole, Walked{whole.verdict}); break;
    default: ADD_FAILURE() << whole;
  }
  const Walked part = walk_exactly(link_type, bytes, shorter);
  EXPECT_TRUE(part == whole || part == Walked{Verdict::cut}) << part << " of a part, " << whole << " of the whole";
}

TEST(HeaderWalk, KeepsItsRulesOnRandomBytes) {
  std::mt19937_64 random(kWalkSeed);
  SCOPED_TRACE("seed " + std::to_string(kWalkSeed));
  for (uint16_t link_type = 0; link_type < 300; ++link_type) {
    for (int round = 0; round < (walks(link_type) ? 3000 : 10) && !HasFailure(); ++round) {
      PacketBytes bytes(random() % 200);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      check_rules(link_type, bytes, random() % (bytes.size() + 1));
    }
  }
}

TEST(HeaderWalk, KeepsItsRulesOnDamagedFrames) {
  std::mt19937_64 random(kWalkSeed);
  SCOPED_TRACE("seed " + std::to_string(kWalkSeed));
  const std::vector<WalkCase> cases = walk_cases();
  for (int round = 0; round < 50000 && !HasFailure(); ++round) {
    const WalkCase& one = cases[random() % cases.size()];
    SCOPED_TRACE(described(one, one.frame.size()) + ", round " + std::to_string(round));
    PacketBytes bytes = one.frame.bytes();
    for (uint64_t damages = 1 + random() % 3; damages > 0; --damages) {
      bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1 << random() % 8);
    }
    check_rules(one.link_type, bytes, random() % (bytes.size() + 1));
  }
}

}  // namespace
}  // namespace trama
