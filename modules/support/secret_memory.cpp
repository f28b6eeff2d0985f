#include "modules/support/secret_memory.hpp"

#include <openssl/crypto.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace trama {
namespace {

size_t round_up(size_t size, size_t multiple) { return (size + multiple - 1) / multiple * multiple; }

uint8_t* map_pages(size_t size) {
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return static_cast<uint8_t*>(pages);
}

// mmap promises a page's alignment only: map more, and give back what lies before and behind.
uint8_t* map_aligned(size_t size, size_t alignment) {
  uint8_t* begin = map_pages(size + alignment);
  const size_t before = round_up(reinterpret_cast<uintptr_t>(begin), alignment) - reinterpret_cast<uintptr_t>(begin);
  if (before != 0) munmap(begin, before);
  if (before != alignment) munmap(begin + before + size, alignment - before);
  return begin + before;
}

}  // namespace

SecretMemory::SecretMemory(size_t size, bool huge) {
  size_ = round_up(size, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  data_ = huge ? map_aligned(size_, kHugePage) : map_pages(size_);
  madvise(data_, size_, MADV_DONTDUMP);
  if (huge) madvise(data_, size_, MADV_HUGEPAGE);
}

SecretMemory::SecretMemory(SecretMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SecretMemory& SecretMemory::operator=(SecretMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SecretMemory::~SecretMemory() {
  if (data_ == nullptr) return;
  OPENSSL_cleanse(data_, size_);
  munmap(data_, size_);
}

}  // namespace trama
