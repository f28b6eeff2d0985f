// The processor's own clock, for the counters: cheap enough to read twice a step, and the same rate on all cores.
#pragma once
#include <cstdint>

namespace trama {

inline uint64_t cycles() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();  // <x86intrin.h> has a name for it, and takes half a second to read
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
  __builtin_ia32_pause();
#else
  asm volatile("yield");
#endif
}

}  // namespace trama
