// Reading and writing whole pieces of files through descriptors.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "libclient/formats/error.hpp"

namespace trama {

// Closes itself; -1 is none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

// What errno says, with the name of the file in front.
tl::unexpected<FormatError> system_failure(const std::filesystem::path& path);

// What may be opened beside regular files: devices, pipes, FIFOs. A FIFO that nobody writes to would be waited for, and
// anybody who can write into a folder can put one there; so only what somebody has named may be one.
enum class SpecialFiles { allowed, refused };

// A file to read from. Error: can't be opened, is a folder, is special where that is refused.
FormatExpected<FileDescriptor> open_to_read(const std::filesystem::path& path, SpecialFiles special);

// A whole small regular file (manifests, journals). Error: unreadable, or longer than max_bytes.
FormatExpected<std::string> read_small_file(const std::filesystem::path& path, uint64_t max_bytes);

// Reads exactly bytes.size() bytes at an offset; false at the end of the file or on an error.
bool read_at(int descriptor, uint64_t offset, std::span<uint8_t> bytes);

// Writes all of it at an offset; false on an error, which errno tells.
bool write_at(int descriptor, uint64_t offset, std::span<const uint8_t> bytes);

}  // namespace trama
