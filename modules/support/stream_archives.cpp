#include "modules/support/stream_archives.hpp"

#include <algorithm>
#include <array>

#include "libclient/formats/archive_envelope.hpp"
#include "libclient/formats/tar_layout.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostOpen = 4;
constexpr uint64_t kMostManifestBytes = uint64_t{4} << 20;  // of some 8000 windows

// Nothing: it isn't there (any more), or can't be read.
std::optional<Manifest> manifest_at(const fs::path& path, FormatExpected<Manifest> (*parse)(std::string_view)) {
  const auto text = read_small_file(path, kMostManifestBytes);
  if (!text) return std::nullopt;
  auto manifest = parse(*text);
  if (!manifest || manifest->windows.empty()) return std::nullopt;
  return std::move(*manifest);
}

}  // namespace

std::optional<KeptWindow> StreamArchives::find(uint64_t from, uint64_t below, int64_t time_ns) {
  ++calls_;
  while (const auto logged = log_->find(from, below, time_ns)) {
    if (const Archive* archive = opened(*logged)) {
      const auto& windows = archive->manifest.windows;
      for (size_t i = 0; i < windows.size() && windows[i].seq < below; ++i) {
        if (windows[i].seq < from || windows[i].last_ns < time_ns) continue;
        if (auto window = read(*archive, i)) return window;
      }
    }
    from = logged->last + 1;
  }
  return std::nullopt;
}

// One that is open already is good as long as it has all windows that the log tells of.
const StreamArchives::Archive* StreamArchives::opened(const LoggedArchive& logged) {
  auto place = std::find_if(archives_.begin(), archives_.end(),
                            [&](const Archive& archive) { return archive.first == logged.first; });
  const bool known = place != archives_.end();
  if (!known || place->manifest.windows.back().seq < logged.last) {
    auto archive = open(logged);
    if (!archive) return nullptr;
    if (!known && archives_.size() < kMostOpen) place = archives_.emplace(archives_.end());
    if (place == archives_.end())
      place = std::min_element(archives_.begin(), archives_.end(),
                               [](const Archive& a, const Archive& b) { return a.used < b.used; });
    *place = std::move(*archive);
  }
  place->used = calls_;
  return &*place;
}

// Its writer may give it its final name at any time: first the manifest, then the archive.
std::optional<StreamArchives::Archive> StreamArchives::open(const LoggedArchive& logged) const {
  fs::path finished = logged.path;
  if (!logged.finished) finished.replace_extension();
  Archive archive;
  archive.first = logged.first;
  std::optional<Manifest> manifest;
  if (auto part = logged.finished ? format_failure("") : open_to_read(logged.path, SpecialFiles::refused)) {
    manifest = manifest_at(logged.path.string() + ".log", parse_journal);
    archive.file = std::move(*part);
  }
  if (!manifest) {
    auto file = open_to_read(finished, SpecialFiles::refused);
    manifest = manifest_at(finished.string() + ".json", parse_manifest);
    if (!file || !manifest) return std::nullopt;
    archive.file = std::move(*file);
  }
  if (manifest->windows.front().seq != logged.first) return std::nullopt;
  uint64_t offset = 0;
  for (const ManifestWindow& window : manifest->windows) {
    archive.offsets.push_back(offset);
    offset = TarEntry{window.member, offset, window.bytes}.next_offset();
  }
  archive.manifest = std::move(*manifest);
  return archive;
}

std::optional<KeptWindow> StreamArchives::read(const Archive& archive, size_t index) {
  const ManifestWindow& window = archive.manifest.windows[index];
  std::array<uint8_t, kTarBlockBytes> block{};
  if (window.bytes > max_bytes_ || !read_at(archive.file.get(), archive.offsets[index], block)) return std::nullopt;
  const auto entry = read_plain_header(block, archive.offsets[index]);
  if (!entry || entry->name != window.member || entry->bytes != window.bytes) return std::nullopt;
  blob_.resize(static_cast<size_t>(window.bytes));
  if (!read_at(archive.file.get(), entry->content_offset(), blob_) || xxh3_128_hex(blob_) != window.xxh3_128)
    return std::nullopt;
  Envelope envelope = envelope_of(archive.manifest.header, window);
  envelope.run = identity_.run;
  envelope.sensor = identity_.sensor;
  envelope.stream = identity_.stream;
  envelope.matrix = blob_;
  KeptWindow kept{window.seq, window.last_ns, make_frame(envelope, max_bytes_)};
  if (!kept.frame.bytes) return std::nullopt;
  return kept;
}

}  // namespace trama
