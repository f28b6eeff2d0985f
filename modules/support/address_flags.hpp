// A map from IPv4 addresses to flags that never changes once made, so that any number of readers look up without
// waiting.
//
// A root with an entry for each /16 leads to nodes for bits 16-23, and those to nodes for bits 24-31; wherever all
// addresses below have the same flags, the entry is those flags. A node keeps its 256 entries as runs of equal ones: a
// bitmap of where runs begin, so that a run's number is a count of bits, and up to 6 runs in the node itself, which is
// one cache line. 10,000 prefixes take about 770 KiB.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trama {

class AddressFlags {
 public:
  static constexpr uint32_t kFlagValues = 8;  // flags are three bits

  // All addresses from first to last, both included. Addresses are numbers: 1.2.3.4 is 0x01020304.
  struct Range {
    uint32_t first, last;
    uint8_t flags;
  };

  AddressFlags() : AddressFlags(std::vector<Range>()) {}
  // An address gets the flags of all ranges that it is in, and 0 if it is in none.
  explicit AddressFlags(const std::vector<Range>& ranges);

  uint32_t find(uint32_t address) const noexcept {
    uint32_t entry = root_[address >> 16];
    if (entry < kFlagValues) return entry;
    entry = below(entry, address >> 8 & 255);
    return entry < kFlagValues ? entry : below(entry, address & 255);
  }

 private:
  // An entry is flags, or kFlagValues plus the index of a node.
  static constexpr size_t kOwnRuns = 6;
  struct alignas(64) Node {
    uint64_t starts[4];  // bit k: entry k begins a run
    uint8_t before[4];   // runs that begin in the words before this one
    uint32_t shared;     // where its runs are in shared_runs_; kInNode: in `own`
    uint32_t own[kOwnRuns];
  };
  static_assert(sizeof(Node) == 64, "one cache line");
  static constexpr uint32_t kInNode = ~uint32_t{0};
  class NodeMaker;
  class Builder;

  uint32_t below(uint32_t entry, uint32_t byte) const noexcept {
    const Node& node = nodes_[entry - kFlagValues];
    const uint32_t word = byte >> 6;
    const uint64_t up_to_byte = node.starts[word] & ~uint64_t{0} >> (63 - (byte & 63));
    const uint32_t run = node.before[word] + static_cast<uint32_t>(std::popcount(up_to_byte)) - 1;
    return node.shared == kInNode ? node.own[run] : shared_runs_[node.shared + run];
  }

  std::vector<uint32_t> root_;  // 65536 entries
  std::vector<Node> nodes_;
  std::vector<uint32_t> shared_runs_;
};

}  // namespace trama
