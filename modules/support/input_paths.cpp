#include "modules/support/input_paths.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace trama {
namespace {

namespace fs = std::filesystem;

Expected<std::vector<std::string>> files_of(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code vanished;  // between listing and asking, or a link to nothing
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && entry->is_regular_file(vanished)) files.push_back(entry->path().string());
  }
  if (error) return failure("can't list the folder " + folder + ": " + error.message(), "check its permissions");
  if (files.empty()) {
    return failure("the folder " + folder + " holds no file",
                   "name capture files, or the folder right above them: sub-folders and hidden files are not read");
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Expected<std::vector<std::string>> expand_inputs(const std::vector<std::string>& paths) {
  std::vector<std::string> inputs;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = path == "-" ? fs::file_status(fs::file_type::fifo) : fs::status(path, error);
    if (status.type() == fs::file_type::not_found) {
      return failure("there is no file " + path, "check the spelling; a relative path starts at the current folder");
    }
    if (!fs::status_known(status) || error) {
      return failure("can't look at " + path + ": " + error.message(), "check the permissions of its folders");
    }
    if (!fs::is_directory(status)) {
      inputs.push_back(path);
      continue;
    }
    auto files = files_of(path);
    if (!files) return files;
    inputs.insert(inputs.end(), files->begin(), files->end());
  }
  return inputs;
}

}  // namespace trama
