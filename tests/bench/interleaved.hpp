// How benchmarks are run whose figures are compared with each other: several repetitions of each, mixed at random, so
// that a busy machine slows all of them alike, and of each the median.
#pragma once
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace trama {

// Instead of benchmark::Initialize(). False: the arguments are wrong, and it was said.
inline bool initialize_interleaved(int argc, char** argv) {
  // Kept for ever: the library doesn't say how long it looks at them.
  static std::vector<std::string> arguments{argv[0], "--benchmark_enable_random_interleaving=true",
                                            "--benchmark_repetitions=9", "--benchmark_report_aggregates_only=true",
                                            "--benchmark_min_time=0.2"};
  arguments.insert(arguments.end(), argv + 1, argv + argc);  // later ones win
  static std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  auto count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  return !benchmark::ReportUnrecognizedArguments(count, pointers.data());
}

// The counter "ns/packet" of a benchmark that did so many packets an iteration.
inline void report_packets(benchmark::State& state, size_t packets) {
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(packets));
  state.counters["ns/packet"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(packets) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace trama
