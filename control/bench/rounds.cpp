#include "control/bench/rounds.hpp"

#include <algorithm>
#include <ctime>

namespace trama {
namespace {

double now_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

}  // namespace

double Series::median() const {
  if (values_.empty()) return 0;
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Series::least() const { return values_.empty() ? 0 : *std::min_element(values_.begin(), values_.end()); }
double Series::most() const { return values_.empty() ? 0 : *std::max_element(values_.begin(), values_.end()); }

Ratio compare(const Series& baseline, const Series& ours) {
  Series each;
  const size_t rounds = std::min(baseline.values().size(), ours.values().size());
  for (size_t i = 0; i < rounds; ++i)
    if (ours.values()[i] > 0) each.add(baseline.values()[i] / ours.values()[i]);
  if (!(ours.median() > 0)) return {};
  return {baseline.median() / ours.median(), each.least(), each.most()};
}

Expected<Cost> timed(uint64_t packets, const std::function<bool()>& work) {
  const double wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  const bool worked = work();
  const double cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu, wall_ns = now_ns(CLOCK_MONOTONIC) - wall;
  if (!worked)
    return failure("a measured step failed", "there may be too little memory: take a smaller --window-packets");
  const auto per_packet = static_cast<double>(packets);
  return Cost{wall_ns / per_packet, cpu_ns / per_packet};
}

size_t Rounds::add(Measure measure) {
  all_.push_back({std::move(measure), {}, {}});
  return all_.size() - 1;
}

Expected<void> Rounds::run(size_t rounds, WarmUp warm_up, const Progress& progress) {
  const size_t uncounted = warm_up == WarmUp::yes ? 1 : 0;
  for (size_t round = 0; round < uncounted + rounds; ++round) {
    if (progress) progress(round, uncounted + rounds);
    for (One& one : all_) {
      const auto cost = one.measure();
      if (!cost) return tl::unexpected(cost.error());
      if (round < uncounted) continue;
      one.wall.add(cost->wall_ns);
      one.cpu.add(cost->cpu_ns);
    }
  }
  return {};
}

}  // namespace trama
