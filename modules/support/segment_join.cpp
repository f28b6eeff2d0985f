#include "modules/support/segment_join.hpp"

#include <algorithm>

namespace trama {
namespace {

// As in walk_segments(): the first try takes the headers of nearly all frames.
constexpr size_t kFirstBytes = 256, kGrowth = 4;

Verdict verdict_of(uint16_t link_type, std::span<const uint8_t> bytes) {
  return walk(link_type, bytes.data(), static_cast<uint32_t>(bytes.size())).verdict;
}

// The first bytes.size() bytes of the segments.
void copy_from(std::span<const Segment> segments, std::span<uint8_t> bytes) {
  for (const Segment& segment : segments) {
    const size_t count = std::min(segment.size(), bytes.size());
    std::copy_n(segment.begin(), count, bytes.begin());
    bytes = bytes.subspan(count);
  }
}

}  // namespace

std::optional<std::span<const uint8_t>> join_headers(uint16_t link_type, std::span<const Segment> segments,
                                                     JoinSpace& space) {
  if (segments.empty()) return Segment{};
  const Segment first = segments.front();
  size_t all = 0;
  for (const Segment& segment : segments) all += segment.size();
  all = std::min<size_t>(all, kMaxCaptured);
  if (first.size() >= all || verdict_of(link_type, first) != Verdict::cut) return first;

  for (size_t bytes = std::max(kFirstBytes, kGrowth * first.size());; bytes *= kGrowth) {
    bytes = std::min(bytes, all);
    if (bytes > space.left().size()) return std::nullopt;
    const std::span<uint8_t> joined = space.left().first(bytes);
    copy_from(segments, joined);
    if (bytes < all && verdict_of(link_type, joined) == Verdict::cut) continue;
    space.use(bytes);
    return joined;
  }
}

}  // namespace trama
