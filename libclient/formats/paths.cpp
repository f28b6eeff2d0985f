#include "libclient/formats/paths.hpp"

#include <algorithm>
#include <system_error>

#include "libclient/formats/archive_finish.hpp"

namespace trama {

namespace fs = std::filesystem;

FormatExpected<std::vector<fs::path>> expand_archives(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return format_failure(path.string() + ": " + (error ? error.message() : "No such file or directory"));
  }
  if (!fs::is_directory(status)) return std::vector{path};
  std::vector<fs::path> archives;
  bool unfinished = false;
  fs::directory_iterator entry(path, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == ".tar" && entry->is_regular_file(ignored)) archives.push_back(entry->path());
    unfinished |= is_part_name(entry->path().filename().string());
  }
  if (error) return format_failure(path.string() + ": " + error.message());
  if (archives.empty()) {
    return format_failure(path.string() + ": no archive (*.tar) in this folder",
                          unfinished ? "`trama verify --recover` finishes what a killed run left behind (*.part)" : "");
  }
  std::sort(archives.begin(), archives.end());
  return archives;
}

SpecialFiles special_files(const fs::path& archive, const fs::path& path) {
  return archive == path ? SpecialFiles::allowed : SpecialFiles::refused;
}

}  // namespace trama
