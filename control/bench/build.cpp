// trama bench build: address pairs to matrices, by several instances at once.
//
// What Jones et al. measured in "GraphBLAS on the Edge" (IEEE HPEC 2022), and Bergeron et al. in "Hypersparse Traffic
// Matrix Construction using GraphBLAS on a DPU" (2023): packets a second as instances, and as the threads of one
// instance, grow. The pairs stand in memory, for GraphBLAS as 64-bit indices; nothing is read, anonymized or written.
#include <span>

#include "control/bench/graphblas.hpp"
#include "control/bench/options.hpp"
#include "control/bench/traffic.hpp"
#include "control/bench/window.hpp"
#include "libclient/formats/blob.hpp"
#include "modules/support/traffic_matrix.hpp"

namespace trama {
namespace {

constexpr size_t kInstanceCounts[] = {1, 2, 4, 8};

// The windows of one kind of traffic, also as the library wants them.
struct Input {
  Input(TrafficModel model, const BenchOptions& options)
      : windows(model, options.window_packets, options.windows),
        source(windows.pairs().source.begin(), windows.pairs().source.end()),
        destination(windows.pairs().destination.begin(), windows.pairs().destination.end()) {}
  size_t first_of(size_t window) const { return window % windows.distinct() * windows.window_packets(); }

  TrafficWindows windows;
  std::vector<uint64_t> source, destination;
};

class OwnBuild {
 public:
  explicit OwnBuild(const Input& input)
      : input_(input), builder_(input.windows.window_packets()), matrix_(input.windows.window_packets()) {}
  bool build(size_t window) {
    const WindowView pairs = input_.windows[window];
    builder_.build(pairs.source, pairs.destination, pairs.packets, IndexOrder::numeric, matrix_);
    return matrix_.view().links() > 0;
  }
  HyperCsr matrix() const { return matrix_.view(); }

 private:
  const Input& input_;
  MatrixBuilder builder_;
  MatrixStorage matrix_;
};

class PublishedBuild {
 public:
  explicit PublishedBuild(const Input& input) : input_(input), window_(input.windows.window_packets()) {}
  bool build(size_t window) {
    const size_t first = input_.first_of(window);
    return window_.build(&input_.source[first], &input_.destination[first], input_.windows.window_packets()) &&
           window_.links() > 0;
  }
  std::span<const uint8_t> blob() { return window_.serialize(); }

 private:
  const Input& input_;
  GraphBlasWindow window_;
};

// Instances of either; instance i of n takes windows i, i + n, i + 2n, ...
template <class Build>
Rounds::Measure measure(const Input& input, const BenchOptions& options, InstanceKind kind, size_t instances,
                        size_t library_threads) {
  return [&input, &options, kind, instances, library_threads] {
    return run_instances(kind, instances, options.packets(), [&](size_t instance) -> InstanceWork {
      if (library_threads != 1 && !set_graphblas_threads(library_threads)) return {};
      auto builds = std::make_shared<Build>(input);
      if (!builds->build(instance)) return {};
      return [builds, instance, instances, windows = options.windows] {
        bool built = true;
        for (size_t window = instance; window < windows; window += instances) built = builds->build(window) && built;
        return built;
      };
    });
  };
}

Expected<void> check_sameness(const Input& input) {
  OwnBuild ours(input);
  PublishedBuild theirs(input);
  if (!ours.build(0) || !theirs.build(0)) return failure("GraphBLAS can't build a matrix");
  BlobWriter writer(input.windows.window_packets());
  std::vector<uint8_t> blob(writer.bound());
  blob.resize(writer.write(ours.matrix(), blob));
  return same_matrices(blob, theirs.blob());
}

struct Pair {
  BenchRow row;
  size_t ours, baseline;
};

void add_pairs(const Input& input, const BenchOptions& options, const char* traffic, Rounds& rounds,
               std::vector<Pair>& pairs) {
  const bool processes = options.instances == InstanceKind::processes;
  for (const size_t count : kInstanceCounts)
    pairs.push_back({{processes ? "processes" : "threads", traffic, count, Clock::wall, {"MatrixBuilder", {}, {}}, {}},
                     rounds.add(measure<OwnBuild>(input, options, options.instances, count, 1)),
                     rounds.add(measure<PublishedBuild>(input, options, options.instances, count, 1))});
  // The library's threads live in a process of their own: a fork must not happen in one where they have been started.
  for (const size_t count : kInstanceCounts)
    pairs.push_back({{"threads of one process", traffic, count, Clock::wall, {"MatrixBuilder", {}, {}}, {}},
                     rounds.add(measure<OwnBuild>(input, options, InstanceKind::threads, count, 1)),
                     rounds.add(measure<PublishedBuild>(input, options, InstanceKind::processes, 1, count))});
}

}  // namespace

Expected<void> bench_build(const BenchOptions& options, BenchReport& report) {
  report.title = "address pairs to matrices, by several instances";
  report.count_name = "instances";
  report.x_label = "instances, or threads of one process";
  if (!start_graphblas()) return failure("GraphBLAS can't be started");
  std::vector<std::unique_ptr<Input>> inputs;
  std::vector<Pair> pairs;
  Rounds rounds;
  for (const TrafficModel model : options.traffic) {
    inputs.push_back(std::make_unique<Input>(model, options));
    if (auto same = check_sameness(*inputs.back()); !same) return same;
    add_pairs(*inputs.back(), options, traffic_letter(model), rounds, pairs);
  }
  if (auto ran = rounds.run(options.rounds, Rounds::WarmUp::no, options.progress); !ran) return ran;
  for (Pair& pair : pairs) {
    pair.row.ours.ns = rounds.wall(pair.ours);
    pair.row.baseline = {"GrB_Matrix_build", rounds.wall(pair.baseline), {}};
    report.rows.push_back(std::move(pair.row));
  }
  report.notes.push_back(
      "processes, threads: each builds its share of the windows, the library with one thread a call");
  report.notes.push_back(
      "threads of one process: one call of the library after the other, with so many threads of OpenMP's; beside it as "
      "many of our own");
  return {};
}

}  // namespace trama
