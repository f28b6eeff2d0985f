// Fuzz target of the header walk. Input: the link type (2 bytes, little-endian), a byte that chooses how the packet is
// shortened and cut into segments, then the captured bytes.
// Beside what the sanitizers see it checks that the verdict is one that the walk may give, that walk() and
// find_header() agree, that a shorter capture of the same packet gets the same verdict or `cut`, and that the packet in
// segments gets the same as in one piece.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "modules/support/header_walk.hpp"
#include "modules/support/header_walk_segments.hpp"
#include "tests/fuzz/guarded_arena.hpp"

namespace trama {
namespace {

using Bytes = std::span<const uint8_t>;

void require(bool holds) {
  if (!holds) std::abort();
}

uint32_t big32(const uint8_t* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | uint32_t{at[3]};
}

// `bytes` ends where its memory does.
Walked walk_both_ways(uint16_t link_type, Bytes bytes) {
  const auto captured = static_cast<uint32_t>(bytes.size());
  const Walked walked = walk(link_type, bytes.data(), captured);
  const FoundHeader found = find_header(link_type, bytes.data(), captured);
  require(found.verdict == walked.verdict && (found.ipv4 != nullptr) == (walked.verdict == Verdict::counted));
  if (found.ipv4 != nullptr) {
    require(found.ipv4 >= bytes.data() && found.ipv4 + 20 <= bytes.data() + captured);
    require(walked.source == big32(found.ipv4 + 12) && walked.destination == big32(found.ipv4 + 16));
  }
  return walked;
}

void check_whole(uint16_t link_type, const Walked& whole) {
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
}

// Random numbers that the input decides, so that a finding can be repeated (Knuth's 64-bit generator).
class Choices {
 public:
  explicit Choices(uint8_t seed) : state_(seed) {}
  size_t below(size_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>((state_ >> 32) % limit);
  }

 private:
  uint64_t state_;
};

constexpr size_t kMostBytes = 4096;  // of a packet: longer ones teach nothing new

void check(uint16_t link_type, Choices choices, Bytes bytes) {
  static test::GuardedArena memory(4 * kMostBytes);
  static const auto scratch = std::make_unique<uint8_t[]>(kMaxCaptured);
  const Walked whole = walk_both_ways(link_type, bytes);  // libFuzzer's own buffer ends with the input
  check_whole(link_type, whole);

  memory.clear();
  const Walked part = walk_both_ways(link_type, memory.copy(bytes.first(choices.below(bytes.size() + 1))));
  require(part == whole || part == Walked{Verdict::cut});

  // Two to five segments, where one that is about to take more than is left takes all.
  std::array<Segment, 5> segments;
  const size_t count = 2 + choices.below(segments.size() - 1);
  for (size_t i = 0; i < count; ++i) {
    const size_t taken = i + 1 == count ? bytes.size() : choices.below(bytes.size() + 1);
    segments[i] = memory.copy(bytes.first(taken));
    bytes = bytes.subspan(taken);
  }
  const Walked joined =
      walk_segments(link_type, std::span(segments).first(count), WalkScratch(scratch.get(), kMaxCaptured));
  require(joined == whole);
}

}  // namespace
}  // namespace trama

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kHeadBytes = 3;
  if (size < kHeadBytes || size > kHeadBytes + trama::kMostBytes) return 0;
  const auto link_type = static_cast<uint16_t>(data[0] | data[1] << 8);
  trama::check(link_type, trama::Choices(data[2]), std::span(data, size).subspan(kHeadBytes));
  return 0;
}
