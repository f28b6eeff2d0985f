#include "libclient/formats/archive_reader.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "libclient/formats/blob_header.hpp"

namespace trama {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;  // also the least that a member's memory grows by

struct FreeArchive {
  void operator()(archive* handle) const { archive_read_free(handle); }
};

std::string reason(archive* handle) {
  const char* text = archive_error_string(handle);
  return text != nullptr ? text : "unreadable";
}

}  // namespace

struct ArchiveReader::State {
  std::string name;
  uint64_t max_bytes;
  FileDescriptor file;
  std::optional<uint64_t> blob_bytes;         // of a single blob
  std::unique_ptr<archive, FreeArchive> tar;  // of everything else
  size_t members = 0;
  bool ended = false;

  tl::unexpected<FormatError> fail(const std::string& text, const std::string& hint = "") {
    ended = true;
    return format_failure(name + ": " + text, hint);
  }

  // Cut in the middle, or damaged: says how much could be read before.
  tl::unexpected<FormatError> fail_after(const std::string& text) {
    return fail(text + " (" + std::to_string(members) + " whole members before)");
  }

  // Fills `bytes` with what `read(to, most)` gives, at most `size` bytes. False if there were fewer.
  template <class Read>
  static bool fill(std::vector<uint8_t>& bytes, uint64_t size, Read read) {
    bytes.clear();
    while (bytes.size() < size) {
      const size_t have = bytes.size();
      const auto step = static_cast<size_t>(std::min<uint64_t>(size - have, std::max(have, kReadBytes)));
      bytes.resize(have + step);
      size_t got = 0;
      while (got < step) {
        const auto more = read(bytes.data() + have + got, step - got);
        if (more <= 0) {
          bytes.resize(have + got);
          return false;
        }
        got += static_cast<size_t>(more);
      }
    }
    return true;
  }

  FormatExpected<bool> next_blob(Member& out) {
    ended = true;
    if (*blob_bytes > max_bytes) return fail("longer than any blob that is read");
    out.name = std::filesystem::path(name).filename().string();
    out.offset = 0;
    const auto read_on = [&](uint8_t* to, size_t most) { return read(file.get(), to, most); };
    if (!fill(out.bytes, *blob_bytes, read_on)) return fail("it became shorter while it was read");
    return true;
  }

  FormatExpected<bool> next_member(Member& out) {
    archive_entry* entry = nullptr;
    do {
      const int status = archive_read_next_header(tar.get(), &entry);
      if (status == ARCHIVE_EOF) {
        ended = true;
        return false;
      }
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return fail_after(reason(tar.get()));
    } while (archive_entry_filetype(entry) == AE_IFDIR);

    const char* path = archive_entry_pathname(entry);
    out.name = path != nullptr ? path : "(no name)";
    out.offset = static_cast<uint64_t>(archive_read_header_position(tar.get()));
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr) {
      return fail_after("member " + out.name + " is not a file");
    }
    const auto size = static_cast<uint64_t>(std::max<int64_t>(archive_entry_size(entry), 0));
    if (size > max_bytes) {
      return fail_after("member " + out.name + " is longer (" + std::to_string(size) +
                        " bytes) than any blob that is read");
    }
    const auto read = [&](uint8_t* to, size_t most) { return archive_read_data(tar.get(), to, most); };
    if (!fill(out.bytes, size, read)) {
      return fail_after("cut or damaged within member " + out.name + ", after " + std::to_string(out.bytes.size()) +
                        " of " + std::to_string(size) + " bytes");
    }
    ++members;
    return true;
  }

  FormatExpected<void> open_tar() {
    tar.reset(archive_read_new());
    if (tar == nullptr) return fail("not enough memory");
    archive* handle = tar.get();
    // Only what libarchive does by itself: its other filters would start programs.
    archive_read_support_filter_gzip(handle);
    archive_read_support_filter_bzip2(handle);
    archive_read_support_filter_xz(handle);
    archive_read_support_filter_zstd(handle);
    archive_read_support_format_tar(handle);
    archive_read_set_option(handle, "tar", "read_concatenated_archives", "1");
    if (archive_read_open_fd(handle, file.get(), kReadBytes) != ARCHIVE_OK) return fail(reason(handle));
    return {};
  }
};

ArchiveReader::ArchiveReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ArchiveReader::~ArchiveReader() = default;
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;
ArchiveReader& ArchiveReader::operator=(ArchiveReader&&) noexcept = default;

FormatExpected<ArchiveReader> ArchiveReader::open(const std::filesystem::path& path, uint64_t max_bytes,
                                                  SpecialFiles special) {
  auto file = open_to_read(path, special);
  if (!file) return tl::unexpected(file.error());
  auto state = std::make_unique<State>();
  state->name = path.string();
  state->max_bytes = max_bytes;
  state->file = std::move(*file);
  struct stat status {};
  if (fstat(state->file.get(), &status) != 0) return system_failure(path);
  // Only a regular file is looked into first: what comes through a pipe can't be put back.
  if (S_ISREG(status.st_mode)) {
    const auto bytes = static_cast<uint64_t>(status.st_size);
    if (bytes == 0) return state->fail("is empty");
    std::array<uint8_t, sizeof(uint64_t)> head{};
    if (bytes >= head.size() && read_at(state->file.get(), 0, head) && looks_like_blob(head, bytes)) {
      state->blob_bytes = bytes;
      return ArchiveReader(std::move(state));
    }
  }
  if (auto opened = state->open_tar(); !opened) return tl::unexpected(opened.error());
  return ArchiveReader(std::move(state));
}

FormatExpected<bool> ArchiveReader::next(Member& out) try {
  if (state_->ended) return false;
  return state_->blob_bytes ? state_->next_blob(out) : state_->next_member(out);
} catch (const std::bad_alloc&) {
  return state_->fail_after("not enough memory for the next member");
}

}  // namespace trama
