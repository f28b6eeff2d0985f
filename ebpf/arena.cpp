#include "ebpf/arena.hpp"

#include <sys/mman.h>

namespace trama::ebpf {

Arena::Arena(size_t bytes) noexcept {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  data_ = static_cast<uint8_t*>(memory);
  bytes_ = bytes;
}

Arena::~Arena() {
  if (data_) ::munmap(data_, bytes_);
}

}  // namespace trama::ebpf
