#include "control/subscribe_output.hpp"

#include <algorithm>
#include <cinttypes>
#include <ctime>
#include <nlohmann/json.hpp>

#include "control/quantity_names.hpp"

namespace trama {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

const char* compression_of(EnvelopeEncoding encoding) {
  switch (encoding) {
    case EnvelopeEncoding::blob_plain: return "none";
    case EnvelopeEncoding::blob_zstd: return "zstd";
    case EnvelopeEncoding::blob_lz4:
    case EnvelopeEncoding::compact:
    case EnvelopeEncoding::tail: break;
  }
  return "lz4";
}

const char* encoding_name(EnvelopeEncoding encoding) {
  return encoding == EnvelopeEncoding::compact ? "compact" : "blob";
}

std::string time_text(int64_t time_ns) {
  const time_t seconds = time_ns / kSecondNs;
  tm utc{};
  char text[40];
  if (gmtime_r(&seconds, &utc) == nullptr || std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc) == 0)
    return "-";
  return text;
}

}  // namespace

ManifestHeader manifest_header(const WindowInfo& info) {
  return {info.sensor,
          info.graph,
          info.window_packets,
          info.raw_order ? "raw" : "numeric",
          compression_of(info.encoding),
          info.anonymization};
}

ManifestWindow manifest_window(const WindowInfo& info) {
  ManifestWindow window;
  window.seq = info.seq;
  window.packets = info.packets;
  window.links = info.links;
  window.first_ns = info.first_ns;
  window.last_ns = info.last_ns;
  window.closed_by = info.closed_by;
  window.key = info.key;
  window.exclusions = info.exclusions;
  window.verdicts = info.verdicts;
  window.dropped = info.dropped;
  return window;
}

void WindowLines::window(const StreamWindow& window) {
  const Quantities quantities = counter_.count(window.matrix());
  json_ ? json_line(window, quantities) : text_line(window, quantities);
  output_.flush();
}

void WindowLines::json_line(const StreamWindow& window, const Quantities& quantities) {
  const WindowInfo& info = window.info();
  nlohmann::ordered_json line = nlohmann::ordered_json::parse(to_journal_line(manifest_window(info)));
  for (const char* of_archives : {"member", "bytes", "xxh3_128", "packets", "links"}) line.erase(of_archives);
  line["missed"] = window.missed;
  line["restarted"] = window.restarted;
  line["sensor"] = info.sensor;
  line["stream"] = info.stream;
  line["index_order"] = info.raw_order ? "raw" : "numeric";
  line["anonymization"] = info.anonymization;
  line["encoding"] = encoding_name(info.encoding);
  line["bytes"] = window.serialized().size();
  line["removed_in_kernel"] = info.removed_in_kernel;
  for (const QuantityName& quantity : kQuantityNames) line[quantity.name] = quantities.*quantity.value;
  // In ASCII, so that no name in it can do anything to a terminal.
  output_.write(line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void WindowLines::text_line(const StreamWindow& window, const Quantities& quantities) {
  char line[200];
  if (first_)
    output_.write(
        "       seq first packet (UTC)    n_packets   n_links n_sources n_destinations max_fan_out max_fan_in"
        "   missed\n");
  first_ = false;
  std::snprintf(line, sizeof line,
                "%10" PRIu64 " %s %10" PRIu64 " %9" PRIu64 " %9" PRIu64 " %14" PRIu64 " %11" PRIu64 " %10" PRIu64
                " %8" PRIu64 "%s\n",
                window.info().seq, time_text(window.info().first_ns).c_str(), quantities.n_packets, quantities.n_links,
                quantities.n_sources, quantities.n_destinations, quantities.max_fan_out, quantities.max_fan_in,
                window.missed, window.restarted ? " restarted" : "");
  output_.write(line);
}

Expected<void> WindowArchives::window(const StreamWindow& window) {
  const WindowInfo& info = window.info();
  if (writer_ && (window.restarted || info.window_packets != window_packets_)) {
    if (auto finished = finish({}); !finished) return finished;
  }
  if (!writer_) {
    window_packets_ = info.window_packets;
    writer_ = std::make_unique<ArchiveWriter>(ArchiveConfig{directory_, window_packets_, windows_per_archive_});
  }
  const auto blob = blob_of(window);
  if (!blob) return failure("window " + std::to_string(info.seq) + " is too large for a blob");
  return writer_->append(manifest_header(info), manifest_window(info), *blob);
}

std::optional<std::span<const uint8_t>> WindowArchives::blob_of(const StreamWindow& window) {
  if (window.info().encoding != EnvelopeEncoding::compact) return window.serialized();
  if (window.matrix().links() > kMaxBlobLinks) return std::nullopt;
  BlobWriter writer(window.matrix().links());
  blob_.resize(std::max(blob_.size(), writer.bound()));
  return std::span<const uint8_t>(blob_).first(writer.write(window.matrix(), blob_));
}

Expected<void> WindowArchives::finish(const VerdictCounts& tail) {
  if (!writer_) return {};
  auto finished = writer_->finish(tail);
  const auto archives = writer_->take_finished();
  finished_.insert(finished_.end(), archives.begin(), archives.end());
  writer_.reset();
  return finished;
}

std::vector<std::filesystem::path> WindowArchives::take_finished() {
  if (writer_) {
    const auto archives = writer_->take_finished();
    finished_.insert(finished_.end(), archives.begin(), archives.end());
  }
  return std::exchange(finished_, {});
}

}  // namespace trama
