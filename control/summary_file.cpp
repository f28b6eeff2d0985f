#include "control/summary_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace trama {
namespace {

namespace fs = std::filesystem;

constexpr off_t kLongestSummary = 64 << 20;

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

// By device and inode where both exist, by name otherwise.
bool same_file(const std::string& a, const std::string& b) {
  struct stat first, second;
  if (stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0)
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  std::error_code no_first, no_second;
  const fs::path first_path = fs::weakly_canonical(a, no_first), second_path = fs::weakly_canonical(b, no_second);
  return !no_first && !no_second && first_path == second_path;
}

// What a summary may be written over.
bool is_summary(const std::string& path, const struct stat& status) {
  if (status.st_size == 0) return true;
  if (status.st_size > kLongestSummary) return false;
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  return json.is_object() && json.contains("trama") && json.contains("packets") && json.contains("windows");
}

Expected<void> write_all(int fd, const std::string& text) {
  for (size_t written = 0; written < text.size();) {
    const ssize_t bytes = ::write(fd, text.data() + written, text.size() - written);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return failure(std::strerror(errno));
    written += static_cast<size_t>(bytes);
  }
  return {};
}

Expected<void> check_folder(const std::string& path, const std::string& output_folder) {
  const fs::path folder = folder_of(path);
  std::error_code error;
  if (!fs::exists(folder, error) && !output_folder.empty() && same_file(folder.string(), output_folder)) return {};
  if (!fs::is_directory(folder, error)) return failure("there is no folder " + folder.string(), "make it first");
  if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return failure("can't write into " + folder.string() + ": " + std::strerror(errno));
  return {};
}

}  // namespace

Expected<SummaryFile> SummaryFile::judge(const std::string& path, const std::vector<std::string>& used,
                                         const std::string& output_folder) {
  if (path == "-") return SummaryFile(path);
  const Place place{"--summary", 0};
  for (const std::string& other : used)
    if (other != "-" && same_file(path, other))
      return failure(path + " is a file that this run uses", "give the summary a name of its own", place);
  struct stat status;
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return failure(path + " is a folder", "name a file in it", place);
    if (!S_ISREG(status.st_mode)) return SummaryFile(path);
    if (!is_summary(path, status))
      return failure(path + " exists and is not an earlier summary", "remove it, or take another name", place);
  }
  if (auto usable = check_folder(path, output_folder); !usable)
    return failure(usable.error().text, usable.error().hint, place);
  return SummaryFile(path);
}

Expected<void> SummaryFile::write(const std::string& json) const {
  const auto failed = [&](const std::string& why) {
    return failure("can't write the summary: " + why, "", {path_ == "-" ? "standard output" : path_, 0});
  };
  if (path_ == "-") {
    const auto written = write_all(STDOUT_FILENO, json);
    if (written || errno == EPIPE) return {};  // a reader that has gone away had enough
    return failed(written.error().text);
  }
  struct stat status;
  const bool special = stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  if (special) {
    const int fd = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return failed(std::strerror(errno));
    const auto written = write_all(fd, json);
    close(fd);
    return written ? written : failed(written.error().text);
  }
  std::error_code ignored;
  fs::create_directories(folder_of(path_), ignored);
  // A link to a summary stays a link.
  const fs::path target = fs::weakly_canonical(path_, ignored);
  std::string name = (target.empty() ? fs::path(path_) : target).string();
  std::string temporary = name + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return failed(std::strerror(errno));
  const mode_t mask = umask(0);
  umask(mask);
  auto written = fchmod(fd, 0666 & ~mask) == 0 ? write_all(fd, json) : failure(std::strerror(errno));
  if (close(fd) != 0 && written) written = failure(std::strerror(errno));
  if (written && rename(temporary.c_str(), name.c_str()) != 0) written = failure(std::strerror(errno));
  if (written) return written;
  unlink(temporary.c_str());
  return failed(written.error().text);
}

}  // namespace trama
