// Atomic operations on aligned memory, as BPF_ATOMIC means them.
#pragma once
#include <linux/bpf.h>

#include <atomic>
#include <cstdint>

namespace trama::ebpf {

// All there are, as an instruction names them.
inline constexpr int32_t kAtomicOperations[] = {BPF_ADD,
                                                BPF_OR,
                                                BPF_AND,
                                                BPF_XOR,
                                                BPF_ADD | BPF_FETCH,
                                                BPF_OR | BPF_FETCH,
                                                BPF_AND | BPF_FETCH,
                                                BPF_XOR | BPF_FETCH,
                                                BPF_XCHG,
                                                BPF_CMPXCHG};

// Word: uint64_t or uint32_t. False: no such operation.
// `source`: the operand, and what was there before if the operation fetches. `expected`: r0, for BPF_CMPXCHG.
template <class Word>
bool atomic_operation(int32_t operation, uint64_t address, uint64_t& source, uint64_t& expected) {
  const std::atomic_ref<Word> memory(*reinterpret_cast<Word*>(address));
  const auto operand = static_cast<Word>(source);
  Word before;
  switch (operation & ~BPF_FETCH) {
    case BPF_ADD: before = memory.fetch_add(operand); break;
    case BPF_OR: before = memory.fetch_or(operand); break;
    case BPF_AND: before = memory.fetch_and(operand); break;
    case BPF_XOR: before = memory.fetch_xor(operand); break;
    case BPF_XCHG & ~BPF_FETCH: before = memory.exchange(operand); break;
    case BPF_CMPXCHG & ~BPF_FETCH: {
      auto there = static_cast<Word>(expected);
      memory.compare_exchange_strong(there, operand);
      expected = there;
      return operation == BPF_CMPXCHG;
    }
    default: return false;
  }
  if ((operation & BPF_FETCH) != 0) source = before;
  return operation != (BPF_XCHG & ~BPF_FETCH);
}

}  // namespace trama::ebpf
