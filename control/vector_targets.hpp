// Which of its vector instruction sets the program uses. Every kernel is built for several ("targets" of Google
// Highway) and takes the best that the processor has. Somebody may want less: the environment variable TRAMA_VECTOR
// says how much at most, as in TRAMA_VECTOR=avx2 for a processor whose clock falls when AVX-512 is used, for microcode
// with a flaw, or to compare. What is computed is the same on all of them.
#pragma once
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

inline constexpr const char* kVectorVariable = "TRAMA_VECTOR";

// What may still be used here, best first; the first one is. From avx3_dl (AVX-512 of Ice Lake and later, with AES and
// GFNI on whole vectors), avx3 (AVX-512 of Skylake), avx2, sse4 on x86-64; neon on Arm.
std::vector<std::string> usable_vector_targets();

// Nothing better than `name` (capitals don't count) is used from here on, in all libraries that use Highway. On a
// processor that doesn't reach that far nothing changes. An error if this build has no such target. Call it before any
// thread is started.
Expected<void> limit_vector_targets(const std::string& name);

// The same with the variable's value; does nothing where it isn't set or empty.
Expected<void> limit_vector_targets_by_environment();

}  // namespace trama
