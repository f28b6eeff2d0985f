#include "libclient/formats/archive_recover.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <new>
#include <system_error>
#include <vector>

#include "libclient/formats/archive_finish.hpp"
#include "libclient/formats/archive_reader.hpp"
#include "libclient/formats/file_bytes.hpp"
#include "libclient/formats/manifest.hpp"
#include "libclient/formats/tar_layout.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kYoungS = 60;  // far longer than a writer takes from making a part to locking it

// Opens the part for us alone. The lock lasts as long as the descriptor.
FormatExpected<FileDescriptor> lock_part(const fs::path& part) {
  FileDescriptor file(open(part.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return system_failure(part);
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return system_failure(part);
    return format_failure(part.string() + ": is being written by another process", "wait until it ends, or stop it");
  }
  // Its writer may have finished between the two calls above.
  struct stat opened {
  }, named{};
  if (fstat(file.get(), &opened) != 0 || lstat(part.c_str(), &named) != 0) return system_failure(part);
  if (opened.st_ino != named.st_ino || opened.st_dev != named.st_dev) {
    return format_failure(part.string() + ": has just been finished by its writer");
  }
  if (!S_ISREG(opened.st_mode)) return format_failure(part.string() + ": is not a file");
  return file;
}

// The header of window `index` is at `offset` and its blob is whole and the one that the journal names.
bool is_whole(int file, uint64_t file_bytes, uint64_t offset, size_t index, const ManifestWindow& window) {
  if (window.member != window_member_name(index) || window.bytes > kMaxMemberBytes) return false;
  if (file_bytes < offset + kTarBlockBytes || file_bytes - offset - kTarBlockBytes < window.bytes) return false;
  std::array<uint8_t, kTarBlockBytes> block{};
  if (!read_at(file, offset, block)) return false;
  const auto entry = read_plain_header(block, offset);
  if (!entry || entry->name != window.member || entry->bytes != window.bytes) return false;
  std::vector<uint8_t> blob(static_cast<size_t>(window.bytes));
  return read_at(file, entry->content_offset(), blob) && xxh3_128_hex(blob) == window.xxh3_128;
}

// Keeps the whole windows in `manifest`; returns where the content of the last one ends.
uint64_t keep_whole_windows(int file, uint64_t file_bytes, Manifest& manifest) {
  uint64_t offset = 0, end = 0;
  size_t whole = 0;
  for (; whole < manifest.windows.size(); ++whole) {
    const ManifestWindow& window = manifest.windows[whole];
    if (!is_whole(file, file_bytes, offset, whole, window)) break;
    const TarEntry entry{window.member, offset, window.bytes};
    end = entry.content_offset() + entry.bytes;
    offset = entry.next_offset();
  }
  manifest.windows.resize(whole);
  return end;
}

// Bytes behind the last whole window that are more than end blocks.
uint64_t bytes_to_cut(int file, uint64_t file_bytes, uint64_t end) {
  const uint64_t next = (end + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
  if (file_bytes <= next) return 0;
  uint8_t first = 0;  // of a member's name; end blocks are zero
  return read_at(file, next, {&first, 1}) && first == 0 ? 0 : file_bytes - next;
}

// Cuts the file behind `end` and writes padding and end blocks anew.
bool close_archive(int file, uint64_t end) {
  const uint64_t padding = (kTarBlockBytes - end % kTarBlockBytes) % kTarBlockBytes;
  return ftruncate(file, static_cast<off_t>(end)) == 0 &&
         write_at(file, end, std::span(kTarEnd).first(static_cast<size_t>(padding))) &&
         write_at(file, end + padding, kTarEnd) && fsync(file) == 0;
}

// The manifest that the writer itself had put in place before it was killed knows the tail too.
std::string manifest_text(const fs::path& part, const Manifest& recovered, uint64_t file_bytes) {
  fs::path archive = part;
  archive.replace_extension();
  std::error_code error;
  if (fs::exists(archive, error)) return to_json(recovered);
  auto text = read_small_file(archive.string() + ".json", max_manifest_bytes(file_bytes));
  const auto there = text ? parse_manifest(*text) : format_failure("");
  const bool same = there && there->header == recovered.header && there->windows == recovered.windows;
  return same ? *text : to_json(recovered);
}

// A part into which nothing was written. Its writer makes it, locks it, and then makes the journal: without a journal
// it may be one that a writer is about to lock. What stands in the journal's place goes only if it is a journal, or
// empty as a writer leaves it that was killed at once.
FormatExpected<Recovered> remove_empty(const fs::path& part, const fs::path& journal, int64_t modified_s) {
  Recovered nothing;
  struct stat status {};
  const bool has_journal = lstat(journal.c_str(), &status) == 0;
  if (!has_journal && errno != ENOENT) return system_failure(journal);
  nothing.left_alone = !has_journal && modified_s > std::time(nullptr) - kYoungS;
  if (nothing.left_alone) return nothing;
  if (unlink(part.c_str()) != 0) return system_failure(part);
  const auto text = read_small_file(journal, max_manifest_bytes(0));
  if (text && (text->empty() || parse_journal(*text))) unlink(journal.c_str());
  return nothing;
}

FormatExpected<Recovered> recover_locked(const fs::path& part, int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) return system_failure(part);
  const auto file_bytes = static_cast<uint64_t>(status.st_size);
  const fs::path journal_path = part.string() + ".log";
  if (file_bytes == 0) return remove_empty(part, journal_path, status.st_mtime);
  const auto text = read_small_file(journal_path, max_manifest_bytes(file_bytes));
  const std::string hint = "its whole windows can still be read: trama inspect " + part.string();
  if (!text) return format_failure(text.error().text, hint);
  auto manifest = parse_journal(*text);
  if (!manifest) return format_failure(journal_path.string() + ": " + manifest.error().text, hint);

  // Killed within the first window: the journal names none, and there is no more than the one being written.
  if (manifest->windows.empty() && read_tar_layout(file, file_bytes).entries.size() <= 1) {
    if (unlink(part.c_str()) != 0) return system_failure(part);
    unlink(journal_path.c_str());
    return Recovered{};
  }
  const uint64_t end = keep_whole_windows(file, file_bytes, *manifest);
  if (manifest->windows.empty()) {
    return format_failure(part.string() + ": no whole window in it", "remove it and its .log");
  }
  Recovered recovered;
  recovered.windows = manifest->windows.size();
  for (const ManifestWindow& window : manifest->windows) recovered.packets += window.packets;
  recovered.cut_bytes = bytes_to_cut(file, file_bytes, end);
  if (!close_archive(file, end)) return system_failure(part);
  auto archive = finish_archive(part, manifest_text(part, *manifest, file_bytes));
  if (!archive) return tl::unexpected(archive.error());
  recovered.archive = std::move(*archive);
  return recovered;
}

}  // namespace

FormatExpected<Recovered> recover_part(const fs::path& part) try {
  if (!is_part_name(part.filename().string())) {
    return format_failure(part.string() + ": is not named as what a killed run leaves behind",
                          "that is YYYYmmdd-HHMMSS-uuuuuu.<packets>.tar.part");
  }
  const auto file = lock_part(part);
  if (!file) return tl::unexpected(file.error());
  return recover_locked(part, file->get());
} catch (const std::bad_alloc&) {
  return format_failure(part.string() + ": not enough memory for its windows");
}

}  // namespace trama
