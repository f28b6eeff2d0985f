// Decompression of streams, by content: gzip, zstd, xz and LZ4 frames, each as often in a row as it comes.
//
// Every decompressor is pushed: it gets what bytes are there, gives what bytes it can, and goes on at any byte. It
// takes memory when it is made and at a member's first bytes, within the bounds named in decompressor.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "modules/support/input_report.hpp"

namespace trama {

enum class InputCompression : uint8_t { undecided, none, gzip, zstd, xz, lz4 };

std::string_view to_string(InputCompression compression);

// What an input that begins with `head` is compressed with. `undecided` while more bytes, up to 6, are needed and may
// come (`ended` is false).
InputCompression recognise_compression(std::span<const uint8_t> head, bool ended);

class Decompressor {
 public:
  struct Step {
    size_t taken = 0;  // bytes of the input
    size_t given = 0;  // bytes of the output
    bool failed = false;
  };
  virtual ~Decompressor() = default;
  // Takes and gives what it can. A step that does neither has nothing left to give and needs more input.
  virtual Step step(std::span<const uint8_t> input, std::span<uint8_t> output) = 0;
  // Whether the input may end here. Called once, when all input was taken and all output given.
  virtual bool may_end() = 0;
  // Valid after a failed step: `corrupt` or `unsupported`, and why.
  const InputFailure& failure() const { return failure_; }

 protected:
  InputFailure failure_;
};

// Null for `undecided` and `none`, and when there is no memory.
std::unique_ptr<Decompressor> make_decompressor(InputCompression compression);

}  // namespace trama
