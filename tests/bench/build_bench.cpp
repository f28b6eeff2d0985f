// What it costs to make a window's matrix: MatrixBuilder against GrB_Matrix_build, nanoseconds of processor time a
// packet, one thread, windows of 2^17 pairs. Repetitions of all cases are mixed at random, so that a busy machine slows
// all of them alike. GrB_Matrix_build gets 64-bit indices that stand ready; making those is not counted.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "control/bench/graphblas.hpp"
#include "modules/support/traffic_matrix.hpp"
#include "tests/bench/interleaved.hpp"
#include "tests/bench/traffic_pairs.hpp"

namespace trama {
namespace {

constexpr size_t kWindow = size_t{1} << 17;
constexpr size_t kWindows = 16;  // in turn, so that no branch predictor learns one by heart

const TrafficPairs& pairs_of(bool skewed) {
  static const TrafficPairs uniform = uniform_pairs(kWindows * kWindow);
  static const TrafficPairs heavy_tailed = skewed_pairs(kWindows * kWindow);
  return skewed ? heavy_tailed : uniform;
}

void report(benchmark::State& state, size_t rows, size_t links) {
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kWindow));
  state.counters["ns/packet"] = benchmark::Counter(static_cast<double>(state.iterations()) * kWindow * 1e-9,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["sources"] = static_cast<double>(rows);
  state.counters["links"] = static_cast<double>(links);
}

void matrix_builder(benchmark::State& state, bool skewed, IndexOrder order) {
  const TrafficPairs& pairs = pairs_of(skewed);
  MatrixBuilder builder(kWindow);
  MatrixStorage matrix(kWindow);
  size_t window = 0;
  for (auto _ : state) {
    const size_t first = kWindow * (window++ % kWindows);
    builder.build(&pairs.source[first], &pairs.destination[first], kWindow, order, matrix);
    benchmark::DoNotOptimize(matrix.view().count.data());
    benchmark::ClobberMemory();
  }
  report(state, matrix.view().rows(), matrix.view().links());
}

void graphblas_build(benchmark::State& state, bool skewed) {
  const TrafficPairs& pairs = pairs_of(skewed);
  const std::vector<uint64_t> sources(pairs.source.begin(), pairs.source.end());
  const std::vector<uint64_t> destinations(pairs.destination.begin(), pairs.destination.end());
  GraphBlasWindow library(kWindow);
  size_t links = 0, window = 0;
  for (auto _ : state) {
    const size_t first = kWindow * (window++ % kWindows);
    if (!library.build(&sources[first], &destinations[first], kWindow)) {
      state.SkipWithError("GraphBLAS failed");
      return;
    }
    links = library.links();
  }
  report(state, 0, links);
}

}  // namespace
}  // namespace trama

int main(int argc, char** argv) {
  if (!trama::initialize_interleaved(argc, argv)) return 2;
  if (!trama::start_graphblas()) return 1;

  using trama::IndexOrder;
  for (const bool skewed : {false, true}) {
    const std::string traffic = skewed ? "/Z" : "/U";
    benchmark::RegisterBenchmark(("MatrixBuilder" + traffic).c_str(), trama::matrix_builder, skewed,
                                 IndexOrder::numeric);
    benchmark::RegisterBenchmark(("MatrixBuilder/raw" + traffic).c_str(), trama::matrix_builder, skewed,
                                 IndexOrder::raw);
    benchmark::RegisterBenchmark(("GrB_Matrix_build" + traffic).c_str(), trama::graphblas_build, skewed);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
