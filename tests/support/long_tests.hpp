// How many runs a property test makes.
#pragma once
#include <cstdint>
#include <cstdlib>

#include "engine/sanitizers.hpp"

namespace trama {

#if TRAMA_THREAD_SANITIZER || TRAMA_ADDRESS_SANITIZER
inline constexpr uint64_t kSanitizerFactor = 4;
#else
inline constexpr uint64_t kSanitizerFactor = 1;
#endif

// `full` with TRAMA_LONG=1 in the environment, else `brief`, or a quarter of it where a sanitizer makes each run dear.
inline uint64_t runs(uint64_t brief, uint64_t full) {
  const char* wanted = std::getenv("TRAMA_LONG");
  return wanted && *wanted == '1' ? full : brief / kSanitizerFactor;
}

}  // namespace trama
