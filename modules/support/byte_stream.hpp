// The content of a file, pipe, FIFO or socket, decompressed if it is compressed, read without ever waiting.
//
// Descriptors that can make a reader wait are asked before each read (poll with no timeout) instead of being switched
// to non-blocking: standard input is shared with other processes, and that switch would be theirs too.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/diagnostic.hpp"
#include "modules/support/decompressor.hpp"
#include "modules/support/input_report.hpp"

namespace trama {

// A file descriptor that is closed with its owner, unless it belongs to somebody else.
class InputDescriptor {
 public:
  InputDescriptor() = default;
  InputDescriptor(int fd, bool owned) : fd_(fd), owned_(owned) {}
  InputDescriptor(InputDescriptor&& other) noexcept { swap(other); }
  InputDescriptor& operator=(InputDescriptor&& other) noexcept {
    swap(other);
    return *this;
  }
  ~InputDescriptor();
  int get() const { return fd_; }

 private:
  void swap(InputDescriptor& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(owned_, other.owned_);
  }
  int fd_ = -1;
  bool owned_ = false;
};

class ByteStream {
 public:
  enum class State {
    bytes,   // at least one
    wait,    // none are there; wait for fd() to be readable
    end,     // none will come
    failed,  // none can come: see failure()
  };
  struct Result {
    State state = State::end;
    size_t bytes = 0;
  };

  // `path` "-" is standard input. Fails if the file can't be opened or is a directory. Never waits, not even for the
  // writer of a FIFO.
  static Expected<ByteStream> open(const std::string& path);
  explicit ByteStream(InputDescriptor descriptor);

  // Reads into `room` (not empty) what is there, in one system call if nothing is compressed.
  Result read(std::span<uint8_t> room);
  // From here on read() gives, of a pipe, what was read so far and what waits in it at this moment, unpacked no more
  // than kMostUnpacked: a few bytes can stand for hours of packets. Of a file, which keeps what it has, at most the
  // first bytes. Then `wait` for good, unless that was all there will ever be. For whoever was told to stop.
  void stop_reading();
  static constexpr size_t kMostUnpacked = size_t{64} << 20;
  int fd() const { return descriptor_.get(); }
  uint64_t raw_bytes() const { return raw_bytes_; }  // read from the descriptor
  // `undecided` until enough bytes have come, and while the input is empty.
  InputCompression compression() const { return compression_; }
  bool failed() const { return failed_; }
  const InputFailure& failure() const { return failure_; }

 private:
  static constexpr size_t kUnlimited = SIZE_MAX;

  Result read_descriptor(std::span<uint8_t> room);
  Result decide();
  Result take_input(std::span<uint8_t> room);
  Result decompress(std::span<uint8_t> room);
  Result end_of_compressed();
  Result fail(InputStatus status, std::string text);

  InputDescriptor descriptor_;
  bool may_wait_ = true;         // it is no regular file
  size_t allowed_ = kUnlimited;  // bytes that may still be read from the descriptor
  size_t unpacks_ = kUnlimited;  // bytes that may still be unpacked
  uint64_t raw_bytes_ = 0;
  InputCompression compression_ = InputCompression::undecided;
  std::unique_ptr<Decompressor> decompressor_;
  std::unique_ptr<uint8_t[]> input_;  // what was read but not passed on: first bytes, then compressed ones
  size_t input_begin_ = 0, input_end_ = 0;
  bool failed_ = false;  // may be set while the last bytes before the failure are handed out
  InputFailure failure_;
};

}  // namespace trama
