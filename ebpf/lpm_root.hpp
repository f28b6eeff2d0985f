// The first 16 bits of a longest prefix match: 2^16 entries as runs of equal ones. And what decides where a single
// prefix is left below an entry. Plain data, which machine code reads as well.
//
// Runs, because lists are short: 10,000 prefixes make some 15,000 of them, of 4 bytes each, instead of 256 KiB that
// push everything else out of the second level of cache. They are kept from the last to the first: so the number of a
// run is how many end from an entry on, which is one shift and one count of bits.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

namespace trama::ebpf {

// One block of memory: a bit for each entry that is the last of its run, but for the very last one; for each word of
// those bits how many are set in the words behind it; the runs.
struct LpmRoot {
  static constexpr uint32_t kBits = 16, kWords = (1u << kBits) / 64;
  static constexpr size_t kCounts = kWords * sizeof(uint64_t), kRuns = kCounts + kWords * sizeof(uint32_t);

  const std::byte* block = nullptr;

  // An entry is a value, 0 for none, or one of these.
  static constexpr uint32_t kNode = 1u << 31, kTail = 3u << 30, kIndex = (1u << 30) - 1;

  uint32_t find(uint32_t first_bits) const noexcept {
    const auto* ends = reinterpret_cast<const uint64_t*>(block);
    const auto* counts = reinterpret_cast<const uint32_t*>(block + kCounts);
    const auto* runs = reinterpret_cast<const uint32_t*>(block + kRuns);
    const uint32_t word = first_bits / 64;
    return runs[counts[word] + static_cast<uint32_t>(std::popcount(ends[word] >> first_bits % 64))];
  }
};

// One masked comparison of a key of at most 4 bytes, as it stands in memory.
struct LpmShortTail {
  uint32_t key = 0, mask = 0;
  uint32_t value[2] = {0, 0};  // where they are the same; where they differ

  uint32_t find(uint32_t wanted) const noexcept { return value[((wanted ^ key) & mask) != 0]; }
};

}  // namespace trama::ebpf
