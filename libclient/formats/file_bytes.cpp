#include "libclient/formats/file_bytes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace trama {

FileDescriptor::~FileDescriptor() {
  if (descriptor_ >= 0) close(descriptor_);
}

tl::unexpected<FormatError> system_failure(const std::filesystem::path& path) {
  return format_failure(path.string() + ": " + std::generic_category().message(errno));
}

FormatExpected<FileDescriptor> open_to_read(const std::filesystem::path& path, SpecialFiles special) {
  const int no_waiting = special == SpecialFiles::refused ? O_NONBLOCK : 0;
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | no_waiting));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return system_failure(path);
  if (S_ISDIR(status.st_mode)) return format_failure(path.string() + ": is a folder");
  if (special == SpecialFiles::refused && !S_ISREG(status.st_mode))
    return format_failure(path.string() + ": is not a file");
  return file;
}

FormatExpected<std::string> read_small_file(const std::filesystem::path& path, uint64_t max_bytes) {
  const auto opened = open_to_read(path, SpecialFiles::refused);
  if (!opened) return tl::unexpected(opened.error());
  const FileDescriptor& file = *opened;
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return system_failure(path);
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes > max_bytes) return format_failure(path.string() + ": is too long to be true");
  std::string text(static_cast<size_t>(bytes), '\0');
  if (!read_at(file.get(), 0, {reinterpret_cast<uint8_t*>(text.data()), text.size()})) return system_failure(path);
  return text;
}

bool read_at(int descriptor, uint64_t offset, std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = pread(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = EIO;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return true;
}

bool write_at(int descriptor, uint64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put == 0) errno = EIO;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return true;
}

}  // namespace trama
