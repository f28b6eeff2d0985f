// How many runs a property test makes.
#pragma once
#include <cstdint>
#include <cstdlib>

namespace trama {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
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
