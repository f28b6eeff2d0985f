#include "modules/support/header_walk_segments.hpp"

#include <algorithm>

namespace trama {
namespace {

// Joined at first: more than the headers of nearly all packets take. Each time that it isn't enough, four times as much
// as before is joined and walked from its beginning: all walks of a packet together take little longer than the last.
constexpr size_t kFirstBytes = 256;
constexpr size_t kGrowth = 4;

class Joiner {
 public:
  Joiner(std::span<const Segment> segments, WalkScratch scratch) : segments_(segments), scratch_(scratch) {}

  // The packet's first `bytes` bytes (at most kMaxCaptured), or all if it has fewer.
  std::span<const uint8_t> join(size_t bytes) {
    while (joined_ < bytes && !segments_.empty()) {
      const Segment rest = segments_.front().subspan(taken_);
      const size_t count = std::min(rest.size(), bytes - joined_);
      std::copy_n(rest.begin(), count, scratch_.begin() + static_cast<std::ptrdiff_t>(joined_));
      joined_ += count;
      taken_ += count;
      if (count == rest.size()) {
        segments_ = segments_.subspan(1);
        taken_ = 0;
      }
    }
    return scratch_.first(joined_);
  }

 private:
  std::span<const Segment> segments_;  // not joined yet, the first one from `taken_` on
  WalkScratch scratch_;
  size_t taken_ = 0, joined_ = 0;
};

Walked walk_piece(uint16_t link_type, std::span<const uint8_t> bytes) {
  return walk(link_type, bytes.data(), static_cast<uint32_t>(bytes.size()));
}

}  // namespace

Walked walk_segments(uint16_t link_type, std::span<const Segment> segments, WalkScratch scratch) {
  const Segment first = segments.empty() ? Segment{} : segments.front();
  Walked walked = walk_piece(link_type, first.first(std::min(first.size(), scratch.size())));
  Joiner joiner(segments, scratch);
  for (size_t walked_bytes = first.size(); walked.verdict == Verdict::cut && walked_bytes < scratch.size();) {
    const std::span<const uint8_t> joined =
        joiner.join(std::min(std::max(kFirstBytes, kGrowth * walked_bytes), scratch.size()));
    if (joined.size() == walked_bytes) break;
    walked = walk_piece(link_type, joined);
    walked_bytes = joined.size();
  }
  return walked;
}

}  // namespace trama
