// Memory that is zero, never moves, and costs nothing until it is touched.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

namespace trama::ebpf {

class Arena {
 public:
  Arena() = default;
  explicit Arena(size_t bytes) noexcept;  // data() is null when there is no memory
  ~Arena();
  Arena(Arena&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Arena& operator=(Arena&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  uint8_t* data() const noexcept { return data_; }
  size_t bytes() const noexcept { return bytes_; }

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace trama::ebpf
