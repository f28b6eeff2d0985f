// Writes windows into TAR archives with their manifests, so that whatever was complete stays readable: after kill -9,
// on a full disk, beside a second run into the same folder.
//
// An archive being written is X.tar.part, with its manifest so far in X.tar.part.log, a line a window. A window is in
// the log only when all of it is in the archive. At the end the manifest is written, then both get their names
// (libclient/formats/archive_finish.hpp).
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"
#include "libclient/formats/file_bytes.hpp"
#include "libclient/formats/manifest.hpp"

namespace trama {

struct ArchiveConfig {
  std::filesystem::path directory;
  uint64_t window_packets = 0;
  uint64_t windows_per_archive = 64;
  bool sync_windows = false;  // have each window on the disk before the next one, not only each archive
};

// Whether `directory` can be used, or made. Changes nothing.
Expected<void> check_output_folder(const std::filesystem::path& directory);

// One thread. After a failure the archive holds what was whole before, and is finished or left for recovery; the object
// takes no more windows.
class ArchiveWriter {
 public:
  explicit ArchiveWriter(ArchiveConfig config) : config_(std::move(config)) {}
  ~ArchiveWriter() = default;
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;

  // Adds a window to the archive at hand, or to a new one when there is none, it is full, or its header differs.
  // `window` needs no member, bytes and checksum: they are filled in here. A full archive is kept open until the next
  // window or the end comes, since the packets seen after its last window belong into its manifest.
  Expected<void> append(const ManifestHeader& header, ManifestWindow window, std::span<const uint8_t> blob);

  // Ends the archive at hand, if any. `tail`: what was seen after the last window.
  Expected<void> finish(const VerdictCounts& tail);

  // The archive at hand, as it is called while it is being written; empty when there is none.
  const std::filesystem::path& part() const { return part_; }

  // Archives finished since the last call, with their folder.
  std::vector<std::filesystem::path> take_finished() { return std::exchange(finished_, {}); }

 private:
  Expected<void> open_part(const ManifestHeader& header, int64_t first_ns);
  Expected<void> write_window(ManifestWindow& window, std::span<const uint8_t> blob);
  Diagnostic give_up(Diagnostic why);
  void cut_back();
  void discard();

  const ArchiveConfig config_;
  std::filesystem::path part_;  // being written; empty when there is none
  FileDescriptor tar_, journal_;
  uint64_t tar_bytes_ = 0, journal_bytes_ = 0;  // whole so far
  Manifest manifest_;
  std::vector<std::filesystem::path> finished_;
};

}  // namespace trama
