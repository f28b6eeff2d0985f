// Loads, stores and atomics, on the stack.
#include "tests/ebpf/assembler.hpp"
#include "tests/ebpf/conformance.hpp"

namespace trama::ebpf {
namespace {

void add_accesses(std::vector<ConformanceCase>& cases) {
  const struct {
    const char* name;
    int size;
    uint64_t kept;
  } sizes[] = {{"byte", BPF_B, 0xef},
               {"half word", BPF_H, 0xcdef},
               {"word", BPF_W, 0x89abcdef},
               {"double word", BPF_DW, 0x123456789abcdef}};
  for (const auto& size : sizes) {
    const std::string name = size.name;
    const Assembler start =
        Assembler().wide(2, 0x0123456789abcdef).store_imm(BPF_DW, 10, -16, -1).store_imm(BPF_DW, 10, -8, -1);
    cases.push_back({name + " stored and loaded with zeros above",
                     Assembler(start).store(size.size, 10, -16, 2).load(size.size, 0, 10, -16).exit().code(),
                     size.kept});
    const uint64_t mask = size.size == BPF_DW  ? kAllBits
                          : size.size == BPF_W ? 0xffffffff
                          : size.size == BPF_H ? 0xffff
                                               : 0xff;
    cases.push_back({name + " stored leaves what is beside it",
                     Assembler(start).store(size.size, 10, -16, 2).load(BPF_DW, 0, 10, -16).exit().code(),
                     (kAllBits & ~mask) | size.kept});
    cases.push_back({name + " immediate is sign-extended",
                     Assembler(start)
                         .store_imm(BPF_DW, 10, -16, 0)
                         .store_imm(size.size, 10, -16, -2)
                         .load(BPF_DW, 0, 10, -16)
                         .exit()
                         .code(),
                     mask - 1});
    cases.push_back({name + " not aligned",
                     Assembler(start).store(size.size, 10, -13, 2).load(size.size, 0, 10, -13).exit().code(),
                     size.kept});
    cases.push_back(
        {name + " through another register",
         Assembler(start).mov(8, 10).add_imm(8, -500).store(size.size, 8, 4, 2).load(size.size, 0, 8, 4).exit().code(),
         size.kept});
  }
  cases.push_back({"wide load", Assembler().wide(0, 0x8000000180000001).exit().code(), 0x8000000180000001});
  cases.push_back({"stack that was never written is zero", Assembler().load(BPF_DW, 0, 10, -512).exit().code(), 0});
}

// Each case leaves two results: what the register holds afterwards, and what the memory does.
struct Atomic {
  const char* name;
  int operation;
  uint64_t memory, source, r0;
  uint64_t memory_after, source_after, r0_after;
};

constexpr uint64_t kA = 0xf0f0f0f0f0f0f0f0, kB = 0xff00ff00ff00ff00;
constexpr Atomic kAtomics64[] = {
    {"add", BPF_ADD, kAllBits, 2, 9, 1, 2, 9},
    {"or", BPF_OR, kA, kB, 9, 0xfff0fff0fff0fff0, kB, 9},
    {"and", BPF_AND, kA, kB, 9, 0xf000f000f000f000, kB, 9},
    {"xor", BPF_XOR, kA, kB, 9, 0x0ff00ff00ff00ff0, kB, 9},
    {"fetch add", BPF_ADD | BPF_FETCH, kAllBits, 2, 9, 1, kAllBits, 9},
    {"fetch or", BPF_OR | BPF_FETCH, kA, kB, 9, 0xfff0fff0fff0fff0, kA, 9},
    {"fetch and", BPF_AND | BPF_FETCH, kA, kB, 9, 0xf000f000f000f000, kA, 9},
    {"fetch xor", BPF_XOR | BPF_FETCH, kA, kB, 9, 0x0ff00ff00ff00ff0, kA, 9},
    {"xchg", BPF_XCHG, kA, kB, 9, kB, kA, 9},
    {"cmpxchg of the same", BPF_CMPXCHG, kA, kB, kA, kB, kB, kA},
    {"cmpxchg of another", BPF_CMPXCHG, kA, kB, 9, kA, kB, kA},
};
// Memory holds 0xaaaaaaaa above the word; it must stay.
constexpr uint64_t kAbove = 0xaaaaaaaaull << 32;
constexpr Atomic kAtomics32[] = {
    {"add32", BPF_ADD, kAbove | 0xffffffff, 2, 9, kAbove | 1, 2, 9},
    {"or32", BPF_OR, kAbove | 0xf0, kAllBits << 32 | 0x0f, 9, kAbove | 0xff, kAllBits << 32 | 0x0f, 9},
    {"and32", BPF_AND, kAbove | 0xf0, 0xff, 9, kAbove | 0xf0, 0xff, 9},
    {"xor32", BPF_XOR, kAbove | 0xf0, 0xff, 9, kAbove | 0x0f, 0xff, 9},
    {"fetch add32", BPF_ADD | BPF_FETCH, kAbove | 0xffffffff, kAllBits, 9, kAbove | 0xfffffffe, 0xffffffff, 9},
    {"fetch or32", BPF_OR | BPF_FETCH, kAbove | 0xf0, kAllBits << 32 | 0x0f, 9, kAbove | 0xff, 0xf0, 9},
    {"fetch and32", BPF_AND | BPF_FETCH, kAbove | 0xf0, kUpperBit | 0x3f, 9, kAbove | 0x30, 0xf0, 9},
    {"fetch xor32", BPF_XOR | BPF_FETCH, kAbove | 0xf0, kUpperBit | 0xff, 9, kAbove | 0x0f, 0xf0, 9},
    {"xchg32", BPF_XCHG, kAbove | 5, kUpperBit | 6, 9, kAbove | 6, 5, 9},
    {"cmpxchg32 of the same", BPF_CMPXCHG, kAbove | 5, 6, 5, kAbove | 6, 6, 5},
    {"cmpxchg32 compares low halves", BPF_CMPXCHG, kAbove | 5, 6, kUpperBit | 5, kAbove | 6, 6, 5},
    {"cmpxchg32 of another", BPF_CMPXCHG, kAbove | 0x80000005, 6, 9, kAbove | 0x80000005, 6, 0x80000005},
};

void add_atomic(std::vector<ConformanceCase>& cases, const Atomic& row, int size) {
  const Assembler start = Assembler()
                              .wide(1, row.memory)
                              .store(BPF_DW, 10, -8, 1)
                              .wide(7, row.source)
                              .wide(0, row.r0)
                              .atomic(size, row.operation, 10, -8, 7);
  const std::string name = std::string("atomic ") + row.name;
  cases.push_back({name + ": memory", Assembler(start).load(BPF_DW, 0, 10, -8).exit().code(), row.memory_after});
  cases.push_back({name + ": source", Assembler(start).mov(0, 7).exit().code(), row.source_after});
  cases.push_back({name + ": r0", Assembler(start).exit().code(), row.r0_after});
}

}  // namespace

void add_memory(std::vector<ConformanceCase>& cases) {
  add_accesses(cases);
  for (const Atomic& row : kAtomics64) add_atomic(cases, row, BPF_DW);
  for (const Atomic& row : kAtomics32) add_atomic(cases, row, BPF_W);
}

}  // namespace trama::ebpf
