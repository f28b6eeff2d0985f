#include "libclient/stream_window.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "libclient/formats/blob.hpp"

namespace trama {

WindowInfo window_info(const Envelope& envelope) {
  WindowInfo info;
  info.run = envelope.run;
  info.seq = envelope.seq;
  info.window_packets = envelope.window_packets;
  info.packets = envelope.packets;
  info.links = envelope.links;
  info.first_ns = envelope.first_ns;
  info.last_ns = envelope.last_ns;
  info.closed_by = envelope.closed_by;
  info.encoding = envelope.encoding;
  info.raw_order = envelope.raw_order;
  info.verdicts = envelope.verdicts;
  info.dropped = envelope.dropped;
  info.removed_in_kernel = envelope.removed_in_kernel;
  info.sensor = envelope.sensor;
  info.stream = envelope.stream;
  info.graph = envelope.graph;
  info.anonymization = envelope.anonymization;
  info.key = envelope.key;
  info.exclusions = envelope.exclusions;
  return info;
}

FormatExpected<StreamWindow> StreamWindow::decode(WindowInfo info, SharedBytes serialized, uint64_t max_links) try {
  if (info.links > max_links)
    return format_failure("the window has more links than this reader takes (" + std::to_string(max_links) + ")");
  StreamWindow window;
  window.info_ = std::move(info);
  window.serialized_ = std::move(serialized);
  const bool compact = window.info_.encoding == EnvelopeEncoding::compact;
  const uint64_t most = window.info_.links;
  const auto packets = compact ? window.decode_compact(most) : window.decode_blob(most);
  if (!packets) return tl::unexpected(packets.error());
  if (window.matrix_.links() != most || *packets != window.info_.packets)
    return format_failure("the matrix has other packets or links than its window states");
  return window;
} catch (const std::bad_alloc&) {
  return format_failure("not enough memory for the window");
}

FormatExpected<uint64_t> StreamWindow::decode_compact(uint64_t max_links) {
  compact_ = CompactReader(max_links);
  const auto read = compact_.read(serialized_.bytes);
  if (!read) return tl::unexpected(read.error());
  if (read->raw_order != info_.raw_order) return format_failure("the matrix has another index order than its window");
  matrix_ = read->matrix;
  return read->packets;
}

// Windows have 32-bit counts; a blob of another maker may hold more in one entry than a window can.
FormatExpected<uint64_t> StreamWindow::decode_blob(uint64_t max_links) {
  auto read = read_blob(serialized_.bytes, max_links);
  if (!read) return tl::unexpected(std::move(read.error()));
  constexpr uint64_t kMostCount = std::numeric_limits<uint32_t>::max();
  if (std::any_of(read->count.begin(), read->count.end(), [](uint64_t count) { return count > kMostCount; }))
    return format_failure("the matrix has a count beyond 32 bits");
  row_ = std::move(read->row);
  column_ = std::move(read->column);
  const auto narrow = [](uint64_t value) { return static_cast<uint32_t>(value); };
  start_.resize(read->start.size());
  std::transform(read->start.begin(), read->start.end(), start_.begin(), narrow);
  count_.resize(read->count.size());
  std::transform(read->count.begin(), read->count.end(), count_.begin(), narrow);
  matrix_ = {row_, start_, column_, count_};
  return std::accumulate(count_.begin(), count_.end(), uint64_t{0});
}

}  // namespace trama
