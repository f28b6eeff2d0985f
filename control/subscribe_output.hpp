// What `trama subscribe` makes of windows: lines for people, lines of JSON, archives.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>

#include "control/data_output.hpp"
#include "engine/diagnostic.hpp"
#include "libclient/formats/blob.hpp"
#include "libclient/formats/quantities.hpp"
#include "libclient/stream_window.hpp"
#include "modules/support/archive_writer.hpp"

namespace trama {

// As the manifest of an archive would have it; member, length and checksum are left to whoever writes the archive.
ManifestHeader manifest_header(const WindowInfo& info);
ManifestWindow manifest_window(const WindowInfo& info);

// A line a window, each written out at once.
class WindowLines {
 public:
  WindowLines(DataOutput& output, bool json) : output_(output), json_(json) {}
  void window(const StreamWindow& window);

 private:
  void json_line(const StreamWindow& window, const Quantities& quantities);
  void text_line(const StreamWindow& window, const Quantities& quantities);
  DataOutput& output_;
  const bool json_;
  bool first_ = true;
  QuantityCounter counter_;
};

// Archives as the stage `archive` writes them. What came as a compact matrix becomes a blob with LZ4. Each run of the
// publisher begins an archive of its own.
class WindowArchives {
 public:
  WindowArchives(std::filesystem::path directory, uint64_t windows_per_archive)
      : directory_(std::move(directory)), windows_per_archive_(windows_per_archive) {}
  Expected<void> window(const StreamWindow& window);
  Expected<void> finish(const VerdictCounts& tail);
  // Archives that have been finished since the last call.
  std::vector<std::filesystem::path> take_finished();

 private:
  std::optional<std::span<const uint8_t>> blob_of(const StreamWindow& window);

  const std::filesystem::path directory_;
  const uint64_t windows_per_archive_;
  uint64_t window_packets_ = 0;
  std::unique_ptr<ArchiveWriter> writer_;  // of the windows so far, all of `window_packets_`
  std::vector<std::filesystem::path> finished_;
  std::vector<uint8_t> blob_;
};

}  // namespace trama
