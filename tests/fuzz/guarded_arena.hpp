// Exact copies of byte ranges for fuzz targets: AddressSanitizer sees a read one byte before or behind a copy, as it
// does with a heap block of that size, but without the price of allocating one. Copies stay valid until clear().
#pragma once
#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

namespace trama::test {

class GuardedArena {
 public:
  explicit GuardedArena(size_t bytes) : size_(bytes), memory_(new (std::align_val_t{kGrain}) uint8_t[bytes]) {
    ASAN_POISON_MEMORY_REGION(memory_.get(), size_);
  }

  std::span<const uint8_t> copy(std::span<const uint8_t> bytes) {
    // What is poisoned is told for 8 bytes at a time, of which the first few may be good: each copy begins with such a
    // grain, and at least a grain lies between two.
    uint8_t* const at = memory_.get() + used_;
    used_ += bytes.size() / kGrain * kGrain + 2 * kGrain;
    if (used_ > size_) std::abort();
    ASAN_UNPOISON_MEMORY_REGION(at, bytes.size());
    std::copy_n(bytes.begin(), bytes.size(), at);
    return {at, bytes.size()};
  }

  void clear() {
    ASAN_POISON_MEMORY_REGION(memory_.get(), used_);
    used_ = kGrain;
  }

 private:
  static constexpr size_t kGrain = 8;
  struct Free {
    void operator()(uint8_t* memory) const { operator delete[](memory, std::align_val_t{kGrain}); }
  };
  size_t size_;
  size_t used_ = kGrain;
  std::unique_ptr<uint8_t[], Free> memory_;
};

}  // namespace trama::test
