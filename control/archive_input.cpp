#include "control/archive_input.hpp"

#include <system_error>

#include "control/command_line.hpp"
#include "control/terminal.hpp"
#include "libclient/formats/archive_reader.hpp"
#include "libclient/formats/blob.hpp"
#include "libclient/formats/file_bytes.hpp"
#include "libclient/formats/paths.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;

// Windows mostly stand in the manifest where they stand in the archive.
const ManifestWindow* entry_of(const std::optional<Manifest>& manifest, size_t index, const std::string& member) {
  if (!manifest) return nullptr;
  const auto& windows = manifest->windows;
  if (index < windows.size() && windows[index].member == member) return &windows[index];
  for (const ManifestWindow& window : windows)
    if (window.member == member) return &window;
  return nullptr;
}

}  // namespace

ArchiveInput::ArchiveInput(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    auto archives = expand_archives(path);
    if (!archives) {
      fail(path, std::move(archives.error()));
      continue;
    }
    for (fs::path& archive : *archives) {
      const SpecialFiles special = special_files(archive, path);
      archives_.push_back({std::move(archive), special});
    }
  }
  for (const Archive& archive : archives_) {
    const auto manifest = load_manifest_of(archive.path);
    if (!manifest) {
      fail(archive.path, manifest.error());
    } else if (*manifest) {
      for (const ManifestWindow& window : (*manifest)->windows) note((*manifest)->header, window.key);
    }
  }
}

void ArchiveInput::note(const ManifestHeader& header, const std::string& key) {
  mixed_index_orders_ |= index_order_ && *index_order_ != header.index_order;
  mixed_keys_ |= key_ && *key_ != key;
  index_order_ = header.index_order;
  key_ = key;
}

void ArchiveInput::fail(const fs::path& path, FormatError error) {
  ++failures_;
  const bool named = mentions(error.text, path.string());
  print({Severity::error, {named ? "" : path.string(), 0}, std::move(error.text), std::move(error.hint)});
}

void ArchiveInput::each(const std::function<bool(ArchivedWindow&)>& use) {
  for (const Archive& archive : archives_)
    if (!read_archive(archive, use)) return;
}

bool ArchiveInput::read_archive(const Archive& archive, const std::function<bool(ArchivedWindow&)>& use) {
  const fs::path& path = archive.path;
  // A manifest that can't be read has been said already.
  const auto manifest = load_manifest_of(path);
  const std::optional<Manifest> known = manifest ? *manifest : std::nullopt;
  auto reader = ArchiveReader::open(path, kMaxMemberBytes, archive.special);
  if (!reader) {
    fail(path, std::move(reader.error()));
    return true;
  }
  Member member;
  for (size_t index = 0;; ++index) {
    const auto more = reader->next(member);
    if (!more) {
      fail(path, more.error());
      return true;
    }
    if (!*more) return true;
    auto matrix = read_blob(member.bytes);
    if (!matrix) {
      fail(path, {member.name + ": " + matrix.error().text, std::move(matrix.error().hint)});
      continue;
    }
    const ManifestWindow* entry = entry_of(known, index, member.name);
    ArchivedWindow window{entry ? entry->seq : windows_, member.name, std::move(*matrix)};
    ++windows_;
    if (!use(window)) return false;
  }
}

int ArchiveInput::status() const {
  if (failures_ == 0) return kDone;
  return windows_ == 0 ? kFailed : kLossy;
}

}  // namespace trama
