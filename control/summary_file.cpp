#include "control/summary_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <system_error>

#include "libclient/formats/archive_finish.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;

constexpr off_t kLongestSummary = 64 << 20;
constexpr int kMostTemporaries = 100;  // names tried
constexpr mode_t kMode = 0666;         // less the umask

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// By name, where one of them isn't there yet.
bool same_place(const std::string& a, const std::string& b) {
  std::error_code no_first, no_second;
  const fs::path first = fs::weakly_canonical(a, no_first), second = fs::weakly_canonical(b, no_second);
  return !no_first && !no_second && first == second;
}

// What a summary may be written over.
bool is_summary(int file, off_t bytes) {
  if (bytes == 0) return true;
  if (bytes > kLongestSummary) return false;
  std::string text(static_cast<size_t>(bytes), '\0');
  if (!read_at(file, 0, {reinterpret_cast<uint8_t*>(text.data()), text.size()})) return false;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  return json.is_object() && json.contains("trama") && json.contains("packets") && json.contains("windows");
}

tl::unexpected<Diagnostic> because_of_errno() { return failure(std::strerror(errno)); }

Expected<void> write_all(int fd, const std::string& text) {
  for (size_t written = 0; written < text.size();) {
    const ssize_t bytes = ::write(fd, text.data() + written, text.size() - written);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return because_of_errno();
    written += static_cast<size_t>(bytes);
  }
  return {};
}

// Only to find other things from it: that takes no right to list it.
FileDescriptor open_folder(int from, const fs::path& path, int no_links = 0) {
  return FileDescriptor(openat(from, path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | no_links));
}

// A new file in the folder, and its name.
FileDescriptor make_temporary(int folder, const std::string& name, std::string& temporary) {
  std::random_device random;
  for (int attempt = 0; attempt < kMostTemporaries; ++attempt) {
    char ending[16];
    std::snprintf(ending, sizeof ending, ".%08x", random());
    temporary = name + ending;
    FileDescriptor file(openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
    if (file || errno != EEXIST) return file;
  }
  return FileDescriptor();
}

}  // namespace

Expected<SummaryFile> SummaryFile::judge(const std::string& path, const std::vector<std::string>& used,
                                         const std::string& output_folder) {
  SummaryFile summary(path);
  if (path == "-") return summary;
  const Place place{"--summary", 0};
  summary.there_ = FileDescriptor(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {
  }, other_status;
  const bool exists = summary.there_ && fstat(summary.there_.get(), &status) == 0;
  for (const std::string& other : used) {
    if (other == "-") continue;
    const bool both = exists && stat(other.c_str(), &other_status) == 0;
    if (both ? same_file(status, other_status) : same_place(path, other))
      return failure(path + " is a file that this run uses", "give the summary a name of its own", place);
  }
  if (exists && S_ISDIR(status.st_mode)) return failure(path + " is a folder", "name a file in it", place);
  summary.special_ = exists && !S_ISREG(status.st_mode);
  if (summary.special_) return summary;
  auto usable = summary.find_folder(output_folder);
  if (usable && exists) usable = summary.judge_file();
  if (!usable) return failure(usable.error().text, usable.error().hint, place);
  return summary;
}

// Sets the folder of what `path_` stands for, and the name in it.
Expected<void> SummaryFile::find_folder(const std::string& output_folder) {
  std::error_code error;
  if (!there_ && fs::is_symlink(path_, error)) return failure(path_ + " is a link to nothing", "name the file itself");
  const fs::path file = there_ ? fs::canonical(path_, error) : fs::path(path_);
  if (there_ && error) return failure("can't find " + path_ + ": " + error.message());
  fs::path folder = folder_of(file);
  name_ = file.filename().string();
  if (name_.empty()) return failure(path_ + " is not the name of a file", "name a file in it");
  if (!fs::exists(folder, error) && !output_folder.empty() && same_place(folder.string(), output_folder)) {
    const fs::path whole = fs::weakly_canonical(folder, error);
    for (folder = whole; !fs::exists(folder, error) && folder.has_relative_path();) folder = folder.parent_path();
    yet_to_make_ = whole.lexically_relative(folder);
  }
  folder_ = open_folder(AT_FDCWD, folder);
  if (!folder_) return failure("there is no folder " + folder.string(), "make it first");
  if (faccessat(folder_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    return failure("can't write into " + folder.string() + ": " + std::strerror(errno));
  return {};
}

// Refuses what is worth keeping, and what isn't what was opened first.
Expected<void> SummaryFile::judge_file() const {
  struct stat first, status;
  const FileDescriptor file(
      openat(folder_.get(), name_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file || fstat(file.get(), &status) != 0)
    return failure("can't read " + path_ + ": " + std::strerror(errno), "remove it, or take another name");
  if (fstat(there_.get(), &first) != 0 || !same_file(first, status))
    return failure(path_ + " was changed while it was looked at", "choose a folder that nobody else writes into");
  if (!is_summary(file.get(), status.st_size))
    return failure(path_ + " exists and is not an earlier summary", "remove it, or take another name");
  return {};
}

Expected<void> SummaryFile::write(const std::string& json) const {
  const auto failed = [&](const std::string& why, const std::string& hint) {
    return failure("can't write the summary: " + why, hint, {path_ == "-" ? "standard output" : path_, 0});
  };
  if (path_ == "-") {
    const auto written = write_all(STDOUT_FILENO, json);
    if (written || errno == EPIPE) return {};  // a reader that has gone away had enough
    return failed(written.error().text, "");
  }
  const auto written = special_ ? write_special(json) : write_file(json);
  return written ? written : failed(written.error().text, written.error().hint);
}

Expected<void> SummaryFile::write_special(const std::string& json) const {
  const FileDescriptor file(open(path_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  struct stat judged, status;
  if (!file || fstat(file.get(), &status) != 0 || fstat(there_.get(), &judged) != 0) return because_of_errno();
  if (!same_file(judged, status)) return failure("something else has taken its place meanwhile");
  return write_all(file.get(), json);
}

Expected<void> SummaryFile::write_file(const std::string& json) const {
  FileDescriptor made;
  for (const fs::path& part : yet_to_make_) {
    const int above = made ? made.get() : folder_.get();
    if (mkdirat(above, part.c_str(), 0777) != 0 && errno != EEXIST) return because_of_errno();
    made = open_folder(above, part, O_NOFOLLOW);
    if (!made) return because_of_errno();
  }
  const int folder = made ? made.get() : folder_.get();
  std::string temporary;
  FileDescriptor file = make_temporary(folder, name_, temporary);
  if (!file) return because_of_errno();
  auto written = write_all(file.get(), json);
  if (written && close(file.release()) != 0) written = because_of_errno();  // where quotas are found out
  if (written) written = put_in_place(folder, temporary);
  if (!written) unlinkat(folder, temporary.c_str(), 0);
  return written;
}

// Renames, over the file that was judged and over nothing else.
Expected<void> SummaryFile::put_in_place(int folder, const std::string& temporary) const {
  const auto taken = [] {
    return failure("something else has taken its name meanwhile", "give it a folder that nobody else writes into");
  };
  struct stat judged, status;
  if (there_ && fstatat(folder, name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (fstat(there_.get(), &judged) != 0 || !same_file(judged, status)) return taken();
    if (renameat(folder, temporary.c_str(), folder, name_.c_str()) != 0) return because_of_errno();
    return {};
  }
  if (rename_without_replacing(folder, temporary.c_str(), name_.c_str())) return {};
  return errno == EEXIST ? Expected<void>(taken()) : because_of_errno();
}

}  // namespace trama
