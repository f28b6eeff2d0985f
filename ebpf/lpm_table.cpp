#include "ebpf/lpm_table.hpp"

#include <algorithm>
#include <utility>

namespace trama::ebpf {
namespace {

// `bits` bits of the key from a byte on: 8 or 16.
uint32_t part_of(const LpmPrefix& prefix, uint32_t first_byte, uint32_t bits) {
  return bits == 8 ? prefix.key[first_byte] : uint32_t{prefix.key[first_byte]} << 8 | prefix.key[first_byte + 1];
}

}  // namespace

LpmPrefix LpmTable::masked(const uint8_t* key, uint32_t length) noexcept {
  LpmPrefix prefix;
  prefix.length = length;
  const uint32_t whole = length / 8;
  std::memcpy(prefix.key.data(), key, whole);
  if (length % 8 != 0) prefix.key[whole] = static_cast<uint8_t>(key[whole] & (0xff00u >> length % 8));
  return prefix;
}

LpmTable::LpmTable(std::vector<LpmPrefix> prefixes, uint32_t key_bytes)
    : key_bytes_(key_bytes), prefixes_(std::move(prefixes)) {
  if (!std::is_sorted(prefixes_.begin(), prefixes_.end(), stands_before))
    std::sort(prefixes_.begin(), prefixes_.end(), stands_before);
  std::vector<uint32_t> entries(size_t{1} << LpmRoot::kBits);
  fill(entries, prefixes_, 0, LpmRoot::kBits);
  make_root(entries);
}

void LpmTable::make_root(const std::vector<uint32_t>& entries) {
  std::array<uint64_t, LpmRoot::kWords> ends{};
  std::array<uint32_t, LpmRoot::kWords> counts{};
  std::vector<uint32_t> runs{entries.back()};
  for (size_t at = entries.size() - 1; at-- > 0;) {
    if (at % 64 == 63) counts[at / 64] = static_cast<uint32_t>(runs.size()) - 1;
    if (entries[at] == entries[at + 1]) continue;
    ends[at / 64] |= uint64_t{1} << at % 64;
    runs.push_back(entries[at]);
  }
  root_bytes_ = LpmRoot::kRuns + runs.size() * sizeof runs[0];
  root_ = std::make_unique<std::byte[]>(root_bytes_);
  std::memcpy(root_.get(), ends.data(), sizeof ends);
  std::memcpy(root_.get() + LpmRoot::kCounts, counts.data(), sizeof counts);
  std::memcpy(root_.get() + LpmRoot::kRuns, runs.data(), runs.size() * sizeof runs[0]);
}

// The entries for `bits` bits of the key, for prefixes that agree in all bytes before. In the order of the list a
// prefix comes behind those that contain it, so that each just covers what stands there.
void LpmTable::fill(std::span<uint32_t> entries, Range range, uint32_t first_byte, uint32_t bits) {
  const uint32_t limit = first_byte * 8 + bits;
  for (size_t at = 0; at < range.size();) {
    const uint32_t part = part_of(range[at], first_byte, bits);
    if (range[at].length <= limit) {
      const size_t covered = size_t{1} << (limit - range[at].length);
      std::fill_n(entries.begin() + part, covered, range[at].value);
      ++at;
      continue;
    }
    size_t end = at + 1;
    while (end < range.size() && part_of(range[end], first_byte, bits) == part) ++end;
    entries[part] = below(range.subspan(at, end - at), first_byte + bits / 8, entries[part]);
    at = end;
  }
}

// One entry for prefixes that agree in all bytes before `byte` and are longer. Recursion: at most 14 deep.
uint32_t LpmTable::below(Range range, uint32_t byte, uint32_t inherited) {
  if (range.size() == 1) return make_tail(range.front(), inherited);
  std::array<uint32_t, 256> entries;
  entries.fill(inherited);
  fill(entries, range, byte, 8);
  return make_node(entries);
}

uint32_t LpmTable::make_tail(const LpmPrefix& prefix, uint32_t inherited) {
  std::array<uint8_t, kMaxLpmBytes> ones;
  ones.fill(0xff);
  const LpmPrefix mask = masked(ones.data(), prefix.length);
  if (key_bytes_ <= kShortBytes) {
    LpmShortTail tail;
    std::memcpy(&tail.key, prefix.key.data(), sizeof tail.key);
    std::memcpy(&tail.mask, mask.key.data(), sizeof tail.mask);
    tail.value[0] = prefix.value;
    tail.value[1] = inherited;
    short_tails_.push_back(tail);
    return kTail | static_cast<uint32_t>(short_tails_.size() - 1);
  }
  Tail tail;
  std::memcpy(tail.key.data(), prefix.key.data(), sizeof tail.key);
  std::memcpy(tail.mask.data(), mask.key.data(), sizeof tail.mask);
  tail.match = prefix.value;
  tail.otherwise = inherited;
  tails_.push_back(tail);
  return kTail | static_cast<uint32_t>(tails_.size() - 1);
}

uint32_t LpmTable::make_node(const std::array<uint32_t, 256>& entries) {
  Node node;
  std::array<uint32_t, 256> runs;
  uint32_t count = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (byte % 64 == 0) node.before[byte / 64] = static_cast<uint8_t>(count);
    if (byte != 0 && entries[byte] == entries[byte - 1]) continue;
    node.begins[byte / 64] |= uint64_t{1} << byte % 64;
    runs[count++] = entries[byte];
  }
  if (count <= kOwnRuns) {
    std::copy_n(runs.begin(), count, node.own.begin());
    node.first = kInside;
  } else {
    node.first = static_cast<uint32_t>(runs_.size());
    runs_.insert(runs_.end(), runs.begin(), runs.begin() + count);
  }
  nodes_.push_back(node);
  return kNode | static_cast<uint32_t>(nodes_.size() - 1);
}

uint32_t LpmTable::find_exact(const uint8_t* key, uint32_t length) const noexcept {
  const LpmPrefix wanted = masked(key, length);
  const auto found = std::lower_bound(prefixes_.begin(), prefixes_.end(), wanted, stands_before);
  return found != prefixes_.end() && found->length == length && found->key == wanted.key ? found->value : 0;
}

uint32_t LpmTable::find_up_to(const uint8_t* key, uint32_t length) const noexcept {
  for (uint32_t left = length + 1; left-- > 0;)
    if (const uint32_t value = find_exact(key, left)) return value;
  return 0;
}

size_t LpmTable::bytes() const noexcept {
  return root_bytes_ + runs_.size() * sizeof(uint32_t) + nodes_.size() * sizeof(Node) + tails_.size() * sizeof(Tail) +
         short_tails_.size() * sizeof(LpmShortTail);
}

}  // namespace trama::ebpf
