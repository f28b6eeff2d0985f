#include "control/data_output.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "control/terminal.hpp"

namespace trama {
namespace {
constexpr size_t kBufferBytes = 1 << 18;
}

DataOutput::DataOutput(int fd) : fd_(fd) { buffer_.reserve(kBufferBytes); }

DataOutput::~DataOutput() { flush(); }

void DataOutput::write(std::string_view text) {
  if (buffer_.size() + text.size() > kBufferBytes) flush();
  if (text.size() > kBufferBytes) buffer_.reserve(text.size());
  buffer_.insert(buffer_.end(), text.begin(), text.end());
}

void DataOutput::number(uint64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  write(std::string_view(digits, static_cast<size_t>(end - digits)));
}

void DataOutput::flush() {
  size_t written = 0;
  while (error_ == 0 && written < buffer_.size()) {
    const ssize_t bytes = ::write(fd_, buffer_.data() + written, buffer_.size() - written);
    if (bytes >= 0) {
      written += static_cast<size_t>(bytes);
    } else if (errno == EAGAIN) {  // somebody has made the terminal or pipe we share non-blocking
      pollfd writable{fd_, POLLOUT, 0};
      poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  buffer_.clear();
}

bool DataOutput::finish() {
  flush();
  if (error_ == 0 || error_ == EPIPE) return true;
  print_error(std::string("can't write the output: ") + std::strerror(error_));
  return false;
}

}  // namespace trama
