// The processor's own clock, for the counters: cheap enough to read twice a step, and the same rate on all cores.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace trama {

inline uint64_t cycles() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
#error "no cycle counter known for this processor"
#endif
}

// Tells the processor that this thread spins.
inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  asm volatile("yield");
#endif
}

}  // namespace trama
