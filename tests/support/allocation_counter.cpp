#include "tests/support/allocation_counter.hpp"

#include <atomic>
#include <cstdlib>

namespace {

std::atomic<bool> counting{false};
std::atomic<size_t> allocations{0};
thread_local bool counted_thread = false;

[[maybe_unused]] void note_allocation() {
  if (counted_thread && counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

#if !TRAMA_ADDRESS_SANITIZER && !TRAMA_THREAD_SANITIZER && defined(__GLIBC__)
// The GNU C library's own names of its allocator: what a program defines under the usual names is used by all of it,
// operator new and the library itself included.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  note_allocation();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  note_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  note_allocation();
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  note_allocation();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  note_allocation();
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : 12;
}
}
#endif

namespace trama::test {

void count_this_thread() { counted_thread = true; }
void start_counting() {
  allocations = 0;
  counting = true;
}
void stop_counting() { counting = false; }
size_t allocations_counted() { return allocations; }

}  // namespace trama::test
