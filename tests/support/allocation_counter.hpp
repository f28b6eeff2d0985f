// Counts what chosen threads allocate. Programs that use it have malloc and its kin replaced, by the GNU C library's
// own ones with a counter in front; with a sanitizer's allocator that can't be done.
#pragma once
#include <cstddef>

#include "engine/sanitizers.hpp"

namespace trama::test {

inline constexpr bool kCountsAllocations =
#if TRAMA_ADDRESS_SANITIZER || TRAMA_THREAD_SANITIZER || !defined(__GLIBC__)
    false;
#else
    true;
#endif

void count_this_thread();  // from now on, while counting
void start_counting();     // from zero; any thread
void stop_counting();
size_t allocations_counted();

}  // namespace trama::test
