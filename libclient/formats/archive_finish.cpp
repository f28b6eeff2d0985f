#include "libclient/formats/archive_finish.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>

#include "libclient/formats/file_bytes.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;

constexpr size_t kStampLength = sizeof("YYYYmmdd-HHMMSS-uuuuuu") - 1;
constexpr unsigned kMostClashes = 100'000;  // then something else is wrong
constexpr mode_t kMode = 0666;              // less the umask

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// A new file with this text, on the disk. What an earlier attempt left there goes.
FormatExpected<void> write_synced(const fs::path& path, const std::string& text) {
  unlink(path.c_str());
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!file) return system_failure(path);
  if (!write_at(file.get(), 0, bytes_of(text)) || fsync(file.get()) != 0) {
    auto failure = system_failure(path);
    unlink(path.c_str());
    return failure;
  }
  return {};
}

void sync_folder(const fs::path& folder) {
  const FileDescriptor handle(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle) fsync(handle.get());  // some file systems can't; the rename is as safe as they make it
}

fs::path beside(const fs::path& path, const char* suffix) { return path.string() + suffix; }

// True if there is a file with this text: the manifest that an attempt before a crash has put in its place.
bool holds_text(const fs::path& path, const std::string& text) {
  const auto there = read_small_file(path, text.size());
  return there && *there == text;
}

// Puts the manifest (written at `written`) and the archive at this name. False if the name is taken.
FormatExpected<bool> take_name(const fs::path& part, const fs::path& written, const std::string& text,
                               const fs::path& archive) {
  struct stat status {};
  if (lstat(archive.c_str(), &status) == 0) return false;
  const fs::path manifest = beside(archive, ".json");
  if (holds_text(manifest, text)) {
    unlink(written.c_str());
  } else if (!rename_without_replacing(written, manifest)) {
    if (errno == EEXIST) return false;
    return system_failure(manifest);
  }
  sync_folder(archive.parent_path());
  if (rename_without_replacing(part, archive)) return true;
  const int reason = errno;
  rename_without_replacing(manifest, written);
  errno = reason;
  if (reason == EEXIST) return false;
  return system_failure(archive);
}

}  // namespace

std::string archive_file_name(int64_t first_ns, uint64_t packets, unsigned clash) {
  constexpr int64_t kSecond_ns = 1'000'000'000;
  int64_t seconds = first_ns / kSecond_ns, rest_ns = first_ns % kSecond_ns;
  if (rest_ns < 0) --seconds, rest_ns += kSecond_ns;
  const std::time_t time = seconds;
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::array<char, 64> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &utc);
  std::string micros = std::to_string(rest_ns / 1000);
  micros.insert(0, 6 - micros.size(), '0');
  std::string name(text.data(), length);
  name += "-" + micros;
  if (clash != 0) name += "-" + std::to_string(clash);
  return name + "." + std::to_string(packets) + ".tar";
}

std::string next_archive_name(const std::string& file_name) {
  const size_t dot = file_name.find('.');
  std::string stem = file_name.substr(0, dot);
  const std::string rest = dot == std::string::npos ? "" : file_name.substr(dot);
  unsigned clash = 0;
  if (stem.size() > kStampLength + 1 && stem[kStampLength] == '-') {
    const char* end = stem.data() + stem.size();
    const auto [stop, error] = std::from_chars(stem.data() + kStampLength + 1, end, clash);
    if (error == std::errc{} && stop == end) {
      stem.resize(kStampLength);
    } else {
      clash = 0;
    }
  }
  return stem + "-" + std::to_string(clash + 1) + rest;
}

bool is_part_name(std::string_view file_name) {
  const auto take = [&](std::string_view text) {
    if (!file_name.starts_with(text)) return false;
    file_name.remove_prefix(text.size());
    return true;
  };
  const auto take_digits = [&](size_t least, size_t most) {
    size_t digits = 0;
    while (digits < most && digits < file_name.size() && file_name[digits] >= '0' && file_name[digits] <= '9') ++digits;
    file_name.remove_prefix(digits);
    return digits >= least;
  };
  constexpr size_t kDigits = 20;  // of a uint64_t
  if (!take_digits(8, 8) || !take("-") || !take_digits(6, 6) || !take("-") || !take_digits(6, 6)) return false;
  if (take("-") && !take_digits(1, kDigits)) return false;
  return take(".") && take_digits(1, kDigits) && file_name == ".tar.part";
}

bool rename_without_replacing(const fs::path& from, const fs::path& to) {
  return rename_without_replacing(AT_FDCWD, from.c_str(), to.c_str());
}

bool rename_without_replacing(int folder, const char* from, const char* to) {
  if (renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return false;
  return linkat(folder, from, folder, to, 0) == 0 && unlinkat(folder, from, 0) == 0;
}

FormatExpected<fs::path> finish_archive(const fs::path& part, const std::string& manifest) {
  if (part.extension() != ".part") return format_failure(part.string() + ": is not named ….tar.part");
  const fs::path written = beside(part, ".json");
  if (auto done = write_synced(written, manifest); !done) return tl::unexpected(done.error());
  fs::path archive = part;
  archive.replace_extension();
  for (unsigned clash = 0; clash < kMostClashes; ++clash) {
    const auto taken = take_name(part, written, manifest, archive);
    if (!taken) {
      unlink(written.c_str());
      return tl::unexpected(taken.error());
    }
    if (*taken) {
      unlink(beside(part, ".log").c_str());
      sync_folder(archive.parent_path());
      return archive;
    }
    archive.replace_filename(next_archive_name(archive.filename().string()));
  }
  unlink(written.c_str());
  return format_failure(archive.string() + ": no free name for the archive");
}

}  // namespace trama
