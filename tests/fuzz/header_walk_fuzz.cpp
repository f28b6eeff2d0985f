// Fuzz target of the header walk. Input: the link type (2 bytes, little-endian), then the captured bytes.
// Beside what the sanitizers see it checks that the verdict is one that the walk may give, that walk() and
// find_header() agree, and that a shorter capture of the same packet gets the same verdict or `cut`.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "modules/support/header_walk.hpp"
#include "tests/support/packet_builder.hpp"

namespace trama {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

Walked walk_exactly(uint16_t link_type, std::span<const uint8_t> bytes) {
  const CapturedPacket packet(bytes);
  const Walked walked = walk(link_type, packet.data(), packet.captured());
  const FoundHeader found = find_header(link_type, packet.data(), packet.captured());
  require(found.verdict == walked.verdict && (found.ipv4 != nullptr) == (walked.verdict == Verdict::counted));
  if (found.ipv4 != nullptr) {
    const PacketBytes pair = PacketBuilder().number32(walked.source).number32(walked.destination).bytes();
    require(std::equal(pair.begin(), pair.end(), found.ipv4 + 12));
  }
  return walked;
}

void check(uint16_t link_type, std::span<const uint8_t> bytes) {
  const Walked whole = walk_exactly(link_type, bytes);
  switch (whole.verdict) {
    case Verdict::counted: break;
    case Verdict::ipv6:
    case Verdict::not_ip:
    case Verdict::malformed:
    case Verdict::cut:
    case Verdict::unknown_link: require(whole == Walked{whole.verdict}); break;
    default: require(false);
  }
  require((whole.verdict == Verdict::unknown_link) || walks(link_type));
  const size_t shorter = bytes.empty() ? 0 : bytes.back() % bytes.size();
  const Walked part = walk_exactly(link_type, bytes.first(shorter));
  require(part == whole || part == Walked{Verdict::cut});
}

}  // namespace
}  // namespace trama

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto link_type = static_cast<uint16_t>(data[0] | data[1] << 8);
  trama::check(link_type, std::span(data, size).subspan(2));
  return 0;
}
