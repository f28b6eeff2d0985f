// Longest prefix match, immutable: built as a whole from a list, then only read.
//
// A root for the first two bytes (ebpf/lpm_root.hpp); below it nodes for one byte each, which store a bit per change of
// value and the runs between them (64 bytes, a cache line, up to six runs); and where only one prefix is left, one
// masked comparison of the whole key instead of a path of nodes: lists of IPv6 prefixes are mostly such paths. IPv4:
// two to four dependent loads. Bytes of keys are in network order, so the first byte counts most.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "ebpf/lpm_root.hpp"

namespace trama::ebpf {

constexpr uint32_t kMaxLpmBytes = 16;  // of a key, without its prefix length

struct LpmPrefix {
  std::array<uint8_t, kMaxLpmBytes> key{};  // bits behind the length are 0
  uint32_t length = 0;                      // bits
  uint32_t value = 0;                       // not 0
};

// A prefix stands in front of those inside it.
inline bool stands_before(const LpmPrefix& a, const LpmPrefix& b) noexcept {
  const auto half = [](const LpmPrefix& prefix, size_t at) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, prefix.key.data() + at, sizeof bytes);
    return __builtin_bswap64(bytes);
  };
  if (const uint64_t x = half(a, 0), y = half(b, 0); x != y) return x < y;
  if (const uint64_t x = half(a, 8), y = half(b, 8); x != y) return x < y;
  return a.length < b.length;
}

class LpmTable {
 public:
  // Prefixes of keys of so many bytes, each at most once. In any order.
  LpmTable(std::vector<LpmPrefix> prefixes, uint32_t key_bytes);

  // The value of the longest prefix of the key; 0: none. kKeyBytes: the table's.
  template <uint32_t kKeyBytes>
  uint32_t find(const uint8_t* key) const noexcept;

  // Any size. Only prefixes up to `length` bits count; bits of the key behind it don't.
  uint32_t find_up_to(const uint8_t* key, uint32_t length) const noexcept;
  // This very prefix; 0: it isn't in the list. Bits of the key behind the length don't count.
  uint32_t find_exact(const uint8_t* key, uint32_t length) const noexcept;

  // The prefix of a key of so many bits, with the bits behind them cleared; value 0.
  static LpmPrefix masked(const uint8_t* key, uint32_t length) noexcept;

  std::span<const LpmPrefix> prefixes() const noexcept { return prefixes_; }  // by key, then length
  uint32_t key_bytes() const noexcept { return key_bytes_; }
  LpmRoot root() const noexcept { return {root_.get()}; }
  const LpmShortTail* short_tails() const noexcept { return short_tails_.data(); }  // of keys of 1 to 4 bytes
  size_t bytes() const noexcept;                                                    // of memory, without prefixes()

 private:
  static constexpr uint32_t kNode = LpmRoot::kNode, kTail = LpmRoot::kTail, kIndex = LpmRoot::kIndex;
  static constexpr uint32_t kOwnRuns = 6;
  static constexpr uint32_t kShortBytes = 4;

  struct alignas(64) Node {
    std::array<uint64_t, 4> begins{};  // bit b: another run begins at byte b
    std::array<uint8_t, 4> before{};   // bits set in the words before
    uint32_t first = 0;                // kInside, or index of the runs in runs_
    std::array<uint32_t, kOwnRuns> own{};
  };
  static constexpr uint32_t kInside = ~0u;

  struct Tail {
    std::array<uint64_t, 2> key{}, mask{};
    uint32_t match = 0, otherwise = 0;
  };

  using Range = std::span<const LpmPrefix>;
  void make_root(const std::vector<uint32_t>& entries);
  void fill(std::span<uint32_t> entries, Range range, uint32_t first_byte, uint32_t bits);
  uint32_t below(Range range, uint32_t byte, uint32_t inherited);
  uint32_t make_tail(const LpmPrefix& prefix, uint32_t inherited);
  uint32_t make_node(const std::array<uint32_t, 256>& entries);
  uint32_t entry_of(const Node& node, uint32_t byte) const noexcept;

  uint32_t key_bytes_;
  std::vector<LpmPrefix> prefixes_;
  std::unique_ptr<std::byte[]> root_;
  size_t root_bytes_ = 0;
  std::vector<Node> nodes_;
  std::vector<uint32_t> runs_;
  std::vector<Tail> tails_;
  std::vector<LpmShortTail> short_tails_;
};

inline uint32_t LpmTable::entry_of(const Node& node, uint32_t byte) const noexcept {
  const uint32_t word = byte >> 6;
  const uint64_t up_to = node.begins[word] & (~uint64_t{0} >> (63 - (byte & 63)));
  const uint32_t run = node.before[word] + static_cast<uint32_t>(std::popcount(up_to)) - 1;
  return node.first == kInside ? node.own[run] : runs_[node.first + run];
}

template <uint32_t kKeyBytes>
inline uint32_t LpmTable::find(const uint8_t* key) const noexcept {
  uint32_t entry = root().find(uint32_t{key[0]} << 8 | (kKeyBytes > 1 ? key[1] : 0u));
  for (uint32_t byte = 2; (entry & kNode) != 0; ++byte) {
    if ((entry & kTail) == kTail) {
      if constexpr (kKeyBytes <= kShortBytes) {
        uint32_t wanted = 0;
        std::memcpy(&wanted, key, kKeyBytes);
        return short_tails_[entry & kIndex].find(wanted);
      }
      const Tail& tail = tails_[entry & kIndex];
      std::array<uint64_t, 2> bits{};
      std::memcpy(bits.data(), key, kKeyBytes);
      const uint64_t differs = ((bits[0] ^ tail.key[0]) & tail.mask[0]) | ((bits[1] ^ tail.key[1]) & tail.mask[1]);
      return differs != 0 ? tail.otherwise : tail.match;
    }
    entry = entry_of(nodes_[entry & kIndex], byte < kKeyBytes ? key[byte] : 0u);
  }
  return entry;
}

}  // namespace trama::ebpf
