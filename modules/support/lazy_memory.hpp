// Memory for the big arrays of one object: one mapping, paid for only as far as it is touched.
//
//   LazyMemory memory(2 * LazyMemory::bytes_of<uint32_t>(n));
//   uint32_t* a = memory.take<uint32_t>(n);
//   uint32_t* b = memory.take<uint32_t>(n);
//
// The constructor asks for address space only; a page becomes memory when it is first written, so that a window of
// 2^28 packets can be configured on a small machine as long as it stays mostly empty. Huge pages are asked for (the
// radix sort writes to 2048 places at a time, more than the first-level TLB holds). Fresh memory reads as zero.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace trama {

// Elements before the first and after the last one of an array that vector code may read and write: a vector store that
// is cut off by a count still writes all its lanes. Every vector of 32-bit lanes is shorter than this.
inline constexpr size_t kSlack = 64;

class LazyMemory {
 public:
  // Throws std::bad_alloc when the system refuses that much address space.
  explicit LazyMemory(size_t bytes);
  ~LazyMemory();
  LazyMemory(LazyMemory&& other) noexcept;
  LazyMemory& operator=(LazyMemory&& other) noexcept;

  // What an array of n elements takes up, with its slack on both sides.
  template <class T>
  static constexpr size_t bytes_of(size_t n) {
    static_assert(std::is_trivial_v<T> && kLine % alignof(T) == 0);
    return (sizeof(T) * (n + 2 * kSlack) + kLine - 1) / kLine * kLine + kGap;
  }

  // The next array; its slack can be used too. Throws std::bad_alloc when less than bytes_of<T>(n) is left.
  template <class T>
  T* take(size_t n) {
    return reinterpret_cast<T*>(take_bytes(sizeof(T) * (n + 2 * kSlack), bytes_of<T>(n))) + kSlack;
  }

 private:
  static constexpr size_t kLine = 64;  // arrays start on cache lines
  static constexpr size_t kGap = 64;   // between arrays: AddressSanitizer reports any access to it

  std::byte* take_bytes(size_t used, size_t reserved);
  void release() noexcept;

  std::byte* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
};

}  // namespace trama
