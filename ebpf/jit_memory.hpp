// Memory for machine code that is writable first and executable afterwards, never both.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "ebpf/error.hpp"

namespace trama::ebpf {

class CodeMemory {
 public:
  // Writes code of at most `bytes` bytes to `where`, as it is to lie at `address`; false: it can't be done.
  using Write = std::function<bool(uint8_t* where, uint64_t address)>;

  // Refuses what the system refuses: memory, or to execute what was written.
  static Expected<CodeMemory> make(size_t bytes, const Write& write);
  ~CodeMemory();
  CodeMemory(CodeMemory&& other) noexcept
      : code_(std::exchange(other.code_, nullptr)),
        code_bytes_(other.code_bytes_),
        mapped_bytes_(other.mapped_bytes_) {}
  CodeMemory& operator=(CodeMemory&&) = delete;

  const uint8_t* code() const noexcept { return code_; }
  size_t code_bytes() const noexcept { return code_bytes_; }

 private:
  CodeMemory(uint8_t* code, size_t code_bytes, size_t mapped_bytes)
      : code_(code), code_bytes_(code_bytes), mapped_bytes_(mapped_bytes) {}

  uint8_t* code_;
  size_t code_bytes_, mapped_bytes_;
};

}  // namespace trama::ebpf
