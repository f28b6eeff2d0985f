// Pieces of programs, and maps, for tests of machine code.
#pragma once
#include <utility>
#include <vector>

#include "tests/ebpf/sandbox.hpp"

namespace trama::ebpf {

constexpr int kValues = 0, kConstants = 1, kRing = 2, kPrograms = 3;

inline Object object_with_maps(std::vector<std::vector<bpf_insn>> programs) {
  MapSpec constants = map_spec(".rodata", BPF_MAP_TYPE_ARRAY, 4, 8, 1);
  constants.section = Section::rodata;
  MapSpec slots = map_spec("programs", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4);
  slots.program_slots = {0, 1, 7};
  return object_of(std::move(programs), {map_spec("array", BPF_MAP_TYPE_ARRAY, 4, 12, 4), constants,
                                         map_spec("ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096), slots});
}

// r6 and r7: start and end of the packet. r0: 0.
inline Assembler packet() { return Assembler().load(BPF_W, 6, 1, 0).load(BPF_W, 7, 1, 4).mov_imm(0, 0); }

}  // namespace trama::ebpf
