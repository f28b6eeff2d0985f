#include "modules/support/address_flags.hpp"

#include <algorithm>
#include <array>

namespace trama {
namespace {

constexpr size_t kRootEntries = 65536;
constexpr size_t kFlags = 3;

// Addresses from `first` to the next run's first have `flags`.
struct Run {
  uint64_t first;
  uint32_t flags;
};

// Ranges may overlap and nest. Their ends, in order, with a count of open ranges for each flag, make runs that don't.
std::vector<Run> flatten(const std::vector<AddressFlags::Range>& ranges) {
  struct End {
    uint64_t at;
    uint8_t flags;
    int change;
  };
  std::vector<End> ends;
  ends.reserve(2 * ranges.size());
  for (const auto& range : ranges) {
    ends.push_back({range.first, range.flags, 1});
    ends.push_back({uint64_t{range.last} + 1, range.flags, -1});
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.at < b.at; });

  std::vector<Run> runs{{0, 0}};
  std::array<int64_t, kFlags> open{};
  for (size_t i = 0; i < ends.size();) {
    const uint64_t at = ends[i].at;
    for (; i < ends.size() && ends[i].at == at; ++i) {
      for (size_t flag = 0; flag < kFlags; ++flag) open[flag] += (ends[i].flags >> flag & 1) * ends[i].change;
    }
    uint32_t flags = 0;
    for (size_t flag = 0; flag < kFlags; ++flag) flags |= static_cast<uint32_t>(open[flag] > 0) << flag;
    if (at == 0) {
      runs[0].flags = flags;
    } else if (flags != runs.back().flags) {
      runs.push_back({at, flags});
    }
  }
  return runs;
}

}  // namespace

// A node under way: what its entries are, in their order.
class AddressFlags::NodeMaker {
 public:
  // From entry k on; those before must be known.
  void add(uint64_t k, uint32_t entry) {
    if (count_ > 0 && runs_[count_ - 1] == entry) return;
    node_.starts[k / 64] |= uint64_t{1} << k % 64;
    runs_[count_++] = entry;
  }

  Node make(std::vector<uint32_t>& shared_runs) {
    for (size_t word = 1; word < 4; ++word)
      node_.before[word] =
          static_cast<uint8_t>(node_.before[word - 1] + static_cast<uint32_t>(std::popcount(node_.starts[word - 1])));
    if (count_ <= kOwnRuns) {
      node_.shared = kInNode;
      std::copy_n(runs_.begin(), count_, node_.own);
    } else {
      node_.shared = static_cast<uint32_t>(shared_runs.size());
      shared_runs.insert(shared_runs.end(), runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(count_));
    }
    return node_;
  }

 private:
  Node node_{};
  std::array<uint32_t, 256> runs_;
  size_t count_ = 0;
};

// Walks the runs once, in the order of addresses.
class AddressFlags::Builder {
 public:
  Builder(AddressFlags& map, std::vector<Run> runs) : map_(map), runs_(std::move(runs)) {}

  // The entry for the 2^bits addresses from `first` on. Each call must begin where the last one ended, or later in the
  // same run.
  uint32_t entry(uint64_t first, uint32_t bits) {
    while (next_starts_by(first)) ++run_;
    const uint64_t last = first + (uint64_t{1} << bits) - 1;
    if (bits == 0 || !next_starts_by(last)) return runs_[run_].flags;

    NodeMaker node;
    for (uint64_t k = 0; k < 256;) {
      node.add(k, entry(first + (k << (bits - 8)), bits - 8));
      ++k;
      // What the run under way covers as well.
      const uint64_t next = run_ + 1 < runs_.size() ? runs_[run_ + 1].first : last + 1;
      const uint64_t covered = std::min<uint64_t>((next - first) >> (bits - 8), 256);
      if (covered <= k) continue;
      node.add(k, runs_[run_].flags);
      k = covered;
    }
    map_.nodes_.push_back(node.make(map_.shared_runs_));
    return static_cast<uint32_t>(kFlagValues + map_.nodes_.size() - 1);
  }

 private:
  bool next_starts_by(uint64_t address) const { return run_ + 1 < runs_.size() && runs_[run_ + 1].first <= address; }

  AddressFlags& map_;
  const std::vector<Run> runs_;
  size_t run_ = 0;
};

AddressFlags::AddressFlags(const std::vector<Range>& ranges) : root_(kRootEntries) {
  Builder builder(*this, flatten(ranges));
  for (size_t k = 0; k < kRootEntries; ++k) root_[k] = builder.entry(uint64_t{k} << 16, 16);
}

}  // namespace trama
