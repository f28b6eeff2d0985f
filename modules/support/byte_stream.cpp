#include "modules/support/byte_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace trama {
namespace {

constexpr size_t kInputBytes = 256 << 10;  // compressed bytes read at a time
constexpr size_t kDecideBytes = 64;        // more than any magic of recognise_compression()

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace

InputDescriptor::~InputDescriptor() {
  if (owned_) ::close(fd_);
}

Expected<ByteStream> ByteStream::open(const std::string& path) {
  if (path == "-") return ByteStream(InputDescriptor(STDIN_FILENO, false));
  // O_NONBLOCK only matters to FIFOs and devices: opening one would wait for its writer.
  InputDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), true);
  if (descriptor.get() < 0) {
    const int error = errno;
    descriptor = InputDescriptor();
    return trama::failure("can't open " + path + ": " + error_text(error));
  }
  struct stat about {};
  if (::fstat(descriptor.get(), &about) == 0 && S_ISDIR(about.st_mode)) {
    return trama::failure(path + " is a directory, not a capture file");
  }
  return ByteStream(std::move(descriptor));
}

ByteStream::ByteStream(InputDescriptor descriptor)
    : descriptor_(std::move(descriptor)), input_(new uint8_t[kInputBytes]) {
  struct stat about {};
  may_wait_ = ::fstat(descriptor_.get(), &about) != 0 || !S_ISREG(about.st_mode);
  if (!may_wait_) ::posix_fadvise(descriptor_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
}

ByteStream::Result ByteStream::fail(InputStatus status, std::string text) {
  failed_ = true;
  failure_ = {status, std::move(text)};
  return {State::failed, 0};
}

ByteStream::Result ByteStream::read_descriptor(std::span<uint8_t> room) {
  for (;;) {
    if (may_wait_) {
      pollfd asked{descriptor_.get(), POLLIN, 0};
      const int ready = ::poll(&asked, 1, 0);
      if (ready == 0) return {State::wait, 0};
      if (ready < 0 && errno == EINTR) continue;
      if (allowed_ == 0 && asked.revents == POLLHUP) return {State::end, 0};  // nobody can write, and all was read
    }
    if (allowed_ == 0) return {State::wait, 0};
    const ssize_t count = ::read(descriptor_.get(), room.data(), std::min(room.size(), allowed_));
    if (count > 0) {
      raw_bytes_ += static_cast<uint64_t>(count);
      if (allowed_ != kUnlimited) allowed_ -= static_cast<size_t>(count);
      return {State::bytes, static_cast<size_t>(count)};
    }
    if (count == 0) return {State::end, 0};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {State::wait, 0};
    if (errno != EINTR) {
      const int error = errno;
      return fail(InputStatus::unreadable,
                  "reading failed after " + std::to_string(raw_bytes_) + " bytes: " + error_text(error));
    }
  }
}

void ByteStream::stop_reading() {
  if (allowed_ != kUnlimited) return;
  int waiting = 0;
  const bool known = may_wait_ && ::ioctl(descriptor_.get(), FIONREAD, &waiting) == 0 && waiting > 0;
  allowed_ = known ? static_cast<size_t>(waiting) : 0;
  unpacks_ = may_wait_ ? kMostUnpacked : 0;
}

// Collects first bytes until they tell how the content is compressed.
ByteStream::Result ByteStream::decide() {
  Result result{State::bytes, 0};
  while (compression_ == InputCompression::undecided) {
    if (result.state != State::bytes) return result;
    result = read_descriptor({input_.get() + input_end_, kDecideBytes - input_end_});
    if (result.state == State::failed) return result;
    input_end_ += result.bytes;
    if (input_end_ == 0) continue;
    compression_ = recognise_compression({input_.get(), input_end_}, result.state == State::end);
  }
  if (compression_ != InputCompression::none) {
    decompressor_ = make_decompressor(compression_);
    if (!decompressor_) {
      return fail(InputStatus::unreadable,
                  "there is not enough memory to unpack " + std::string(to_string(compression_)) + " data");
    }
  }
  return {State::bytes, 0};
}

ByteStream::Result ByteStream::take_input(std::span<uint8_t> room) {
  const size_t count = std::min(room.size(), input_end_ - input_begin_);
  std::memcpy(room.data(), input_.get() + input_begin_, count);
  input_begin_ += count;
  return {State::bytes, count};
}

ByteStream::Result ByteStream::read(std::span<uint8_t> room) {
  if (failed_) return {State::failed, 0};
  if (compression_ == InputCompression::undecided) {
    const Result result = decide();
    if (result.state != State::bytes) return result;
  }
  if (decompressor_) return decompress(room);
  if (input_begin_ != input_end_) return take_input(room);
  return read_descriptor(room);
}

ByteStream::Result ByteStream::end_of_compressed() {
  if (decompressor_->may_end()) return {State::end, 0};
  return fail(InputStatus::truncated, std::string(to_string(compression_)) + " data cut: the file ends at byte " +
                                          std::to_string(raw_bytes_) + ", inside a stream");
}

ByteStream::Result ByteStream::decompress(std::span<uint8_t> room) {
  if (unpacks_ == 0) return {State::wait, 0};
  room = room.first(std::min(room.size(), unpacks_));
  for (;;) {
    const Decompressor::Step step = decompressor_->step({input_.get() + input_begin_, input_end_ - input_begin_}, room);
    input_begin_ += step.taken;
    if (unpacks_ != kUnlimited) unpacks_ -= step.given;
    if (step.failed) {
      const uint64_t at = raw_bytes_ - (input_end_ - input_begin_);
      const Result failed = fail(decompressor_->failure().status,
                                 std::string(to_string(compression_)) + " data can't be unpacked at " + "about byte " +
                                     std::to_string(at) + ": " + decompressor_->failure().text);
      return step.given != 0 ? Result{State::bytes, step.given} : failed;
    }
    if (step.given != 0) return {State::bytes, step.given};
    if (step.taken != 0) continue;
    const Result result = read_descriptor({input_.get(), kInputBytes});
    if (result.state == State::end) return end_of_compressed();
    if (result.state != State::bytes) return result;
    input_begin_ = 0;
    input_end_ = result.bytes;
  }
}

}  // namespace trama
