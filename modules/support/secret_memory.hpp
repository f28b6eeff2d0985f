// Memory for keys and for what is derived from them.
//
// A mapping of its own: zero-filled, page-aligned, left out of core dumps (MADV_DONTDUMP), and overwritten before it
// goes back to the kernel. A heap block would do neither, and its neighbours would share its pages.
#pragma once
#include <cstddef>
#include <cstdint>

namespace trama {

class SecretMemory {
 public:
  static constexpr size_t kHugePage = size_t{2} << 20;

  SecretMemory() = default;
  // `size` bytes. With `huge`, it begins at a multiple of kHugePage and asks for huge pages, which the kernel may
  // refuse. Throws std::bad_alloc when there is no memory left.
  explicit SecretMemory(size_t size, bool huge = false);
  SecretMemory(SecretMemory&& other) noexcept;
  SecretMemory& operator=(SecretMemory&& other) noexcept;
  SecretMemory(const SecretMemory&) = delete;
  SecretMemory& operator=(const SecretMemory&) = delete;
  ~SecretMemory();

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;  // whole pages
};

}  // namespace trama
