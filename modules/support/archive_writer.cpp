#include "modules/support/archive_writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "libclient/formats/archive_finish.hpp"
#include "libclient/formats/tar_writer.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMostClashes = 100'000;  // names tried before something else must be wrong
constexpr mode_t kMode = 0666;              // less the umask
constexpr int64_t kSecondNs = 1'000'000'000;

Diagnostic because_of_errno(const std::string& what, const fs::path& path) {
  const int reason = errno;
  std::string hint;
  if (reason == ENOSPC || reason == EDQUOT) hint = "make room, or choose another folder with -w";
  if (reason == EACCES || reason == EROFS || reason == EPERM) hint = "choose another folder with -w";
  return {Severity::error, {path.string(), 0}, what + ": " + std::strerror(reason), hint};
}

Diagnostic from_format(const FormatError& error) { return {Severity::error, {}, error.text, error.hint}; }

// All parts, one behind the other, at an offset. False on an error, which errno tells.
bool write_parts(int fd, uint64_t offset, std::array<iovec, 3> parts) {
  size_t first = 0;
  while (first < parts.size()) {
    const ssize_t written =
        pwritev(fd, parts.data() + first, static_cast<int>(parts.size() - first), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    offset += static_cast<uint64_t>(written);
    size_t left = static_cast<size_t>(written);
    while (first < parts.size() && left >= parts[first].iov_len) left -= parts[first++].iov_len;
    if (first < parts.size()) {
      parts[first].iov_base = static_cast<uint8_t*>(parts[first].iov_base) + left;
      parts[first].iov_len -= left;
    }
  }
  return true;
}

iovec part_of(const void* data, size_t bytes) { return {const_cast<void*>(data), bytes}; }

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

Expected<void> check_output_folder(const fs::path& directory) {
  std::error_code error;
  fs::path existing = fs::absolute(directory, error);
  while (!fs::exists(existing, error) && existing.has_relative_path()) existing = existing.parent_path();
  if (!fs::is_directory(existing, error))
    return failure("not a folder", "choose another one with -w", {existing.string(), 0});
  if (access(existing.c_str(), W_OK | X_OK) != 0)
    return tl::unexpected(because_of_errno("can't write into the folder", existing));
  return {};
}

Expected<void> ArchiveWriter::append(const ManifestHeader& header, ManifestWindow window,
                                     std::span<const uint8_t> blob) {
  const bool full = manifest_.windows.size() == config_.windows_per_archive;
  if (!part_.empty() && (full || !(header == manifest_.header)))
    if (auto finished = finish({}); !finished) return finished;
  if (part_.empty())
    if (auto opened = open_part(header, window.first_ns); !opened) return opened;
  if (auto written = write_window(window, blob); !written) return tl::unexpected(give_up(std::move(written.error())));
  manifest_.windows.push_back(std::move(window));
  return {};
}

Expected<void> ArchiveWriter::open_part(const ManifestHeader& header, int64_t first_ns) {
  std::error_code error;
  fs::create_directories(config_.directory, error);
  if (error) return failure("can't make the folder: " + error.message(), "", {config_.directory.string(), 0});

  const uint64_t packets = config_.window_packets * config_.windows_per_archive;
  for (unsigned clash = 0; clash < kMostClashes; ++clash) {
    const fs::path archive = config_.directory / archive_file_name(first_ns, packets, clash);
    if (fs::exists(fs::symlink_status(archive, error))) continue;
    const fs::path part = archive.string() + ".part";
    FileDescriptor tar(open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
    if (!tar && errno == EEXIST) continue;
    if (!tar) return tl::unexpected(because_of_errno("can't make the archive", part));
    // Held while it is written, so that recovery leaves it alone; the kernel lets go of it when this process dies. A
    // recovery that came in between may have it, or may have removed it: then it is not ours.
    struct stat status {};
    if (flock(tar.get(), LOCK_EX) != 0 || fstat(tar.get(), &status) != 0 || status.st_nlink == 0) continue;
    part_ = part;
    tar_ = std::move(tar);
    const fs::path log = part.string() + ".log";
    unlink(log.c_str());  // of an archive that is gone, or a link that somebody laid
    journal_ = FileDescriptor(open(log.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
    const std::string line = to_journal_header(header);
    manifest_ = {};
    manifest_.header = header;
    tar_bytes_ = 0;
    journal_bytes_ = line.size();
    if (!journal_ || !write_at(journal_.get(), 0, bytes_of(line))) {
      Diagnostic why = because_of_errno("can't write the journal", log);
      discard();
      return tl::unexpected(std::move(why));
    }
    return {};
  }
  return failure("no free name for an archive", "choose another folder with -w", {config_.directory.string(), 0});
}

// The member first, then its line in the journal: what the journal names is whole.
Expected<void> ArchiveWriter::write_window(ManifestWindow& window, std::span<const uint8_t> blob) {
  window.member = window_member_name(manifest_.windows.size());
  window.bytes = blob.size();
  window.xxh3_128 = xxh3_128_hex(blob);
  const auto header = make_tar_header(window.member, blob.size(), window.first_ns / kSecondNs);
  if (!header) return tl::unexpected(from_format(header.error()));
  if (!write_parts(tar_.get(), tar_bytes_,
                   {part_of(header->block.data(), header->block.size()), part_of(blob.data(), blob.size()),
                    part_of(kTarEnd.data(), header->padding_bytes)}))
    return tl::unexpected(because_of_errno("can't write window " + std::to_string(window.seq), part_));
  const std::string line = to_journal_line(window);
  if (!write_at(journal_.get(), journal_bytes_, bytes_of(line)))
    return tl::unexpected(
        because_of_errno("can't write window " + std::to_string(window.seq) + " into the journal", part_));
  if (config_.sync_windows && (fdatasync(tar_.get()) != 0 || fdatasync(journal_.get()) != 0))
    return tl::unexpected(because_of_errno("can't get window " + std::to_string(window.seq) + " onto the disk", part_));
  tar_bytes_ += header->block.size() + blob.size() + header->padding_bytes;
  journal_bytes_ += line.size();
  return {};
}

Expected<void> ArchiveWriter::finish(const VerdictCounts& tail) {
  if (part_.empty()) return {};
  manifest_.tail = tail;
  if (!write_at(tar_.get(), tar_bytes_, kTarEnd) || fsync(tar_.get()) != 0) {
    Diagnostic why = because_of_errno("can't finish the archive", part_);
    cut_back();
    why.hint = "its whole windows are there: make room, then `trama verify --recover` it";
    return tl::unexpected(std::move(why));
  }
  auto archive = finish_archive(part_, to_json(manifest_));
  if (!archive) {
    Diagnostic why = from_format(archive.error());
    why.hint = "its whole windows are there: make room, then `trama verify --recover` it";
    return tl::unexpected(std::move(why));
  }
  finished_.push_back(*archive);
  part_.clear();
  tar_ = FileDescriptor();
  journal_ = FileDescriptor();
  manifest_ = {};
  return {};
}

// A window could not be written. The archive is cut back to the ones before it and finished, if there is room for that.
Diagnostic ArchiveWriter::give_up(Diagnostic why) {
  cut_back();
  if (manifest_.windows.empty())
    discard();
  else if (auto finished = finish({}); !finished)
    why.hint = finished.error().hint;
  return why;
}

void ArchiveWriter::cut_back() {
  [[maybe_unused]] const int tar_cut = ftruncate(tar_.get(), static_cast<off_t>(tar_bytes_));
  [[maybe_unused]] const int journal_cut = ftruncate(journal_.get(), static_cast<off_t>(journal_bytes_));
}

void ArchiveWriter::discard() {
  unlink((part_.string() + ".log").c_str());
  unlink(part_.c_str());
  part_.clear();
  tar_ = FileDescriptor();
  journal_ = FileDescriptor();
}

}  // namespace trama
