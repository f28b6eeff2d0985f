// Maps and pieces of programs for tests of the verifier.
#pragma once
#include <vector>

#include "ebpf/verifier.hpp"
#include "tests/ebpf/sandbox.hpp"

namespace trama::ebpf {

enum VerifierMap {
  kArrayMap,
  kPerCpuMap,
  kHashMap,
  kLpmMap,
  kProgramsMap,
  kRingMap,
  kSocketsMap,
  kConstantsMap,
  kVariablesMap
};

inline std::vector<MapSpec> verifier_maps() {
  std::vector<MapSpec> maps{
      map_spec("array", BPF_MAP_TYPE_ARRAY, 4, 16, 4),        map_spec("percpu", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 16, 4),
      map_spec("hash", BPF_MAP_TYPE_HASH, 4, 16, 4),          map_spec("lpm", BPF_MAP_TYPE_LPM_TRIE, 8, 8, 4),
      map_spec("programs", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4), map_spec("ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096),
      map_spec("sockets", BPF_MAP_TYPE_XSKMAP, 4, 4, 4),      map_spec(".rodata", BPF_MAP_TYPE_ARRAY, 4, 16, 1),
      map_spec(".bss", BPF_MAP_TYPE_ARRAY, 4, 16, 1)};
  maps[kConstantsMap].section = Section::rodata;
  maps[kVariablesMap].section = Section::bss;
  return maps;
}

inline Expected<Facts> analyzed(const Assembler& program) {
  return analyze(object_of({program.code()}, verifier_maps()), 0);
}

// with_packet(), of which so many bytes are there, or the program ends. See ended().
inline Assembler with_bytes(int bytes) {
  return with_packet().mov(2, 6).add_imm(2, bytes).mov_imm(0, 0).jump(BPF_JGT, 2, 7, "out");
}
inline Assembler ended(Assembler program) { return program.mov_imm(0, 0).label("out").exit(); }
inline Assembler key_and_lookup(int map) { return Assembler().store_imm(BPF_W, 10, -4, 1).lookup(map, -4); }

}  // namespace trama::ebpf
