#include "control/bench/crew.hpp"

#include <algorithm>

#include "control/bench/graphblas.hpp"

namespace trama {
namespace {

constexpr size_t kDistinctFrames = size_t{1} << 20;

Expected<void> compare_on(TrafficModel model, const BenchOptions& options, std::span<const size_t> counts,
                          const MakeCrew& make_crew, BenchReport& report) {
  const size_t window_packets = options.window_packets;
  const TrafficPairs pairs = draw_pairs(model, std::clamp(options.packets(), uint64_t{window_packets},
                                                          std::max<uint64_t>(kDistinctFrames, window_packets)));
  const Frames frames(Frames::Link::ethernet, pairs);
  const MakeWorker own = [=] { return make_own_worker(window_packets, nullptr); };
  const MakeWorker published = [=] { return make_published_worker(window_packets, nullptr); };
  const WindowView window{pairs.source.data(), pairs.destination.data(), window_packets};
  if (auto same = same_matrices(own()->blob_of(window), published()->blob_of(window)); !same) return same;

  const auto ours = make_crew(frames, own), theirs = make_crew(frames, published);
  Rounds rounds;
  for (const size_t count : counts)
    for (Crew* crew : {ours.get(), theirs.get()}) rounds.add([crew, count] { return crew->run(count); });
  if (auto ran = rounds.run(options.rounds, Rounds::WarmUp::yes, options.progress); !ran) return ran;
  for (size_t i = 0; i < counts.size(); ++i)
    report.rows.push_back({"walk, build, serialize, tar", traffic_letter(model), counts[i], Clock::wall,
                           BenchSide{"Trama", rounds.wall(2 * i), {}},
                           BenchSide{"GraphBLAS", rounds.wall(2 * i + 1), {}}});
  return {};
}

}  // namespace

bool WalkedWindow::walk(const Frames& frames, size_t window, size_t window_packets) {
  packets = frames.walk_window(window * window_packets, window_packets, source.data(), destination.data());
  return packets == window_packets;
}

Expected<void> compare_crews(const BenchOptions& options, std::span<const size_t> counts, const MakeCrew& make_crew,
                             BenchReport& report) {
  if (!start_graphblas()) return failure("GraphBLAS can't be started");
  for (const TrafficModel model : options.traffic)
    if (auto compared = compare_on(model, options, counts, make_crew, report); !compared) return compared;
  report.notes.push_back("packets of 64 bytes (Ethernet) in memory; neither way anonymizes; archives stay in memory");
  return {};
}

}  // namespace trama
