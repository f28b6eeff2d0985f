// Which instructions compute what nobody reads: machine code needs none for them. Compilers for the kernel leave some,
// above all copies of the context, which is no memory here: its fields are read without it.
#pragma once
#include <cstdint>
#include <vector>

#include "ebpf/object.hpp"
#include "ebpf/verifier.hpp"

namespace trama::ebpf {

struct Liveness {
  std::vector<bool> needless;  // by instruction; of a wide load its first half
  bool context = true;         // r1 is read, as the program finds it
};

// Of a program that the verifier accepts. Nothing is needless where it would take too long to find out.
Liveness find_needless(const std::vector<bpf_insn>& code, const Facts& facts);

}  // namespace trama::ebpf
