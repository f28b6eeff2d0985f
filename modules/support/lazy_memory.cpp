#include "modules/support/lazy_memory.hpp"

#include <sys/mman.h>

#include <new>
#include <utility>

#include "engine/sanitizers.hpp"

#if TRAMA_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace trama {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

LazyMemory::LazyMemory(size_t bytes) {
  // Huge pages exist only at multiples of their size: leave room to start at one.
  const bool huge = bytes >= kHugePage;
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  mapped_bytes_ = bytes + (huge ? kHugePage : 1);
  void* mapping =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  next_ = mapping_;
  if (huge) {
    next_ += (kHugePage - reinterpret_cast<uintptr_t>(mapping_) % kHugePage) % kHugePage;
    // Advice only: a kernel without transparent huge pages gives ordinary ones.
    (void)madvise(next_, bytes, MADV_HUGEPAGE);
  }
  end_ = next_ + bytes;
}

LazyMemory::~LazyMemory() { release(); }

LazyMemory::LazyMemory(LazyMemory&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
      next_(std::exchange(other.next_, nullptr)),
      end_(std::exchange(other.end_, nullptr)) {}

LazyMemory& LazyMemory::operator=(LazyMemory&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(next_, other.next_);
  std::swap(end_, other.end_);
  return *this;
}

std::byte* LazyMemory::take_bytes(size_t used, size_t reserved) {
  if (reserved > static_cast<size_t>(end_ - next_)) throw std::bad_alloc();
  std::byte* taken = next_;
  next_ += reserved;
  ASAN_POISON_MEMORY_REGION(taken + used, reserved - used);
  return taken;
}

void LazyMemory::release() noexcept {
  if (mapping_ == nullptr) return;
  ASAN_UNPOISON_MEMORY_REGION(mapping_, mapped_bytes_);  // the address may come back for something else
  munmap(mapping_, mapped_bytes_);
}

}  // namespace trama
