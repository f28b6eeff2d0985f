// Batches and windows for stage tests, from plain data.
#pragma once
#include <initializer_list>
#include <utility>
#include <vector>

#include "modules/messages.hpp"

namespace trama::test {

using Pair = std::pair<uint32_t, uint32_t>;

// One packet of an AddressBatch: its verdict, and its addresses if it is counted.
struct Seen {
  Verdict verdict = Verdict::counted;
  uint32_t source = 0, destination = 0;
  int64_t time_ns = 0;
};

inline void fill(AddressBatch& batch, const std::vector<Seen>& packets) {
  batch.tally = {};
  batch.judges = 0;
  batch.count = packets.size();
  batch.pairs = 0;
  for (size_t i = 0; i < packets.size(); ++i) {
    const Seen& packet = packets[i];
    batch.verdicts[i] = packet.verdict;
    ++batch.tally[packet.verdict];
    if (packet.verdict != Verdict::counted) continue;
    batch.source[batch.pairs] = packet.source;
    batch.destination[batch.pairs] = packet.destination;
    batch.time_ns[batch.pairs++] = packet.time_ns;
  }
}

// What windows behind the stage that anonymizes hold on to.
inline std::shared_ptr<const AnonymizationKey> some_key() {
  return std::make_shared<const AnonymizationKey>(
      AnonymizationKey{{"crypto-pan-aes128", "0123456789abcdef", {}}, nullptr});
}

inline void fill(WindowPairs& window, const std::vector<Pair>& pairs) {
  window.tally = {};
  window.tally[Verdict::counted] = pairs.size();
  window.first_ns = 1;
  window.last_ns = 2;
  window.closed_by = ClosedBy::full;
  window.judged = false;
  window.key = nullptr;
  window.pairs = pairs.size();
  for (size_t i = 0; i < pairs.size(); ++i) {
    window.source[i] = pairs[i].first;
    window.destination[i] = pairs[i].second;
  }
}

inline std::vector<Pair> pairs_of(const WindowPairs& window) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < window.pairs; ++i) pairs.emplace_back(window.source[i], window.destination[i]);
  return pairs;
}

}  // namespace trama::test
