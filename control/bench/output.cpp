#include "control/bench/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "libclient/formats/file_bytes.hpp"

namespace trama {

Expected<void> judge_output(const std::string& path, const char* option) {
  const Place place{option, 0};
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return failure(path + " is a folder", "name a file in it", place);
    if (S_ISREG(status.st_mode) && status.st_size > 0)
      return failure(path + " is there already", "remove it, or take another name", place);
    if (access(path.c_str(), W_OK) != 0) return failure("can't write " + path + ": " + std::strerror(errno), "", place);
    return {};
  }
  const std::filesystem::path file(path);
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  if (stat(folder.c_str(), &status) != 0) return failure("there is no folder " + folder, "make it first", place);
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return failure("can't write into " + folder + ": " + std::strerror(errno), "", place);
  return {};
}

Expected<void> write_output(const std::string& path, const std::string& bytes) {
  const auto failed = [&] { return failure("can't write " + path + ": " + std::strerror(errno)); };
  bool made = true;
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC, 0666));
  struct stat status {};
  if (!file && errno == EEXIST) {
    made = false;
    file = FileDescriptor(open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    if (file && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
      return failure(path + " has been made by somebody else meanwhile");
  }
  if (!file) return failed();
  for (size_t written = 0; written < bytes.size();) {
    const ssize_t put = write(file.get(), bytes.data() + written, bytes.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const auto why = failed();
      if (made) unlink(path.c_str());
      return why;
    }
    written += static_cast<size_t>(put);
  }
  return {};
}

}  // namespace trama
