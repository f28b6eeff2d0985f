// trama bench pipeline: anonymize, build, serialize (LZ4) and an archive in memory, on one core and on two.
//
// The steps are run in a loop, window by window, through WindowWorker, and by the engine, from packets that stand in
// memory. Beside both runs the published method: a table for anonymizing, GrB_Matrix_build, GxB_Matrix_serialize.
#include <array>
#include <atomic>

#include "control/bench/engine.hpp"
#include "control/bench/graphblas.hpp"
#include "control/bench/options.hpp"
#include "control/bench/window.hpp"

namespace trama {
namespace {

// Archives are as large as others', so that they are written into memory that is in no cache.
bool run_windows(const TrafficWindows& windows, size_t count, WindowWorker& worker, MemoryTar& tar) {
  for (size_t window = 0; window < count; ++window)
    if (!tar.append(worker.blob_of(windows[window]))) return false;
  return true;
}

class Pipeline {
 public:
  Pipeline(const BenchOptions& options, TrafficModel model, const CryptoPan& crypto_pan, const AddressTable& table)
      : options_(options),
        model_(model),
        table_(table),
        windows_(model, options.window_packets, options.windows),
        own_{make_own_worker(options.window_packets, &crypto_pan),
             make_own_worker(options.window_packets, &crypto_pan)},
        published_(make_published_worker(options.window_packets, &table)),
        tars_{MemoryTar(kWindowsOfArchive, options.window_packets),
              MemoryTar(kWindowsOfArchive, options.window_packets)} {}

  // The table knows only addresses below 2^bits: for these, both ways must give the same.
  Expected<void> check_sameness() {
    TrafficPairs known{{}, {}};
    const WindowView window = windows_[0];
    for (size_t i = 0; i < window.packets; ++i) {
      known.source.push_back(window.source[i] & table_.mask());
      known.destination.push_back(window.destination[i] & table_.mask());
    }
    const WindowView view{known.source.data(), known.destination.data(), window.packets};
    return same_matrices(own_[0]->blob_of(view), published_->blob_of(view));
  }

  void add_to(Rounds& rounds) {
    own_one_ = rounds.add([this] {
      return timed(options_.packets(), [this] { return run_windows(windows_, options_.windows, *own_[0], tars_[0]); });
    });
    published_one_ = rounds.add([this] {
      return timed(options_.packets(),
                   [this] { return run_windows(windows_, options_.windows, *published_, tars_[0]); });
    });
    own_two_ = rounds.add([this] {
      std::atomic<size_t> next{0};
      return run_instances(InstanceKind::threads, 2, options_.packets(), [&, this](size_t i) -> InstanceWork {
        return [&, this, i] { return run_next_windows(next, *own_[i], tars_[i]); };
      });
    });
    engine_one_ = rounds.add([this] { return engine(1); });
    engine_two_ = rounds.add([this] { return engine(2); });
  }

  void add_rows(const Rounds& rounds, BenchReport& report) const {
    const BenchSide published{"published", rounds.cpu(published_one_), {}};
    const auto add = [&](const char* step, size_t workers, Clock clock, const Series& ours, BenchSide baseline) {
      report.rows.push_back(
          {step, traffic_letter(model_), workers, clock, BenchSide{"Trama", ours, {}}, std::move(baseline)});
    };
    add("steps in a loop", 1, Clock::cpu, rounds.cpu(own_one_), published);
    add("engine", 1, Clock::cpu, rounds.cpu(engine_one_), published);
    add("steps in a loop", 2, Clock::wall, rounds.wall(own_two_), {"one worker", rounds.wall(own_one_), {}});
    add("engine", 2, Clock::wall, rounds.wall(engine_two_), {"one worker", rounds.wall(engine_one_), {}});
  }

 private:
  // Until none is left: as by the engine, a processor that something else keeps busy does less, and holds up nobody.
  bool run_next_windows(std::atomic<size_t>& next, WindowWorker& worker, MemoryTar& tar) const {
    bool whole = true;
    for (size_t window = next++; window < options_.windows; window = next++)
      whole = tar.append(worker.blob_of(windows_[window])) && whole;
    return whole;
  }
  Expected<Cost> engine(size_t workers) const {
    return run_memory_graph(model_, options_.windows, options_.window_packets, workers);
  }

  const BenchOptions& options_;
  const TrafficModel model_;
  const AddressTable& table_;
  const TrafficWindows windows_;
  std::array<std::unique_ptr<WindowWorker>, 2> own_;
  std::unique_ptr<WindowWorker> published_;
  std::array<MemoryTar, 2> tars_;
  size_t own_one_ = 0, published_one_ = 0, own_two_ = 0, engine_one_ = 0, engine_two_ = 0;
};

}  // namespace

Expected<void> bench_pipeline(const BenchOptions& options, BenchReport& report) {
  report.title = "anonymize, build, serialize and archive in memory";
  report.count_name = "workers";
  if (!start_graphblas()) return failure("GraphBLAS can't be started");
  const CryptoPan crypto_pan(kBenchKey);
  const int bits = AddressTable::bits_that_fit(options.table_bits, available_memory_bytes());
  auto table = AddressTable::make(bits, crypto_pan);
  if (!table) return tl::unexpected(std::move(table.error()));

  std::vector<std::unique_ptr<Pipeline>> pipelines;
  Rounds rounds;
  for (const TrafficModel model : options.traffic) {
    pipelines.push_back(std::make_unique<Pipeline>(options, model, crypto_pan, *table));
    if (auto same = pipelines.back()->check_sameness(); !same) return same;
    pipelines.back()->add_to(rounds);
  }
  if (auto ran = rounds.run(options.rounds, Rounds::WarmUp::yes, options.progress); !ran) return ran;
  for (const auto& pipeline : pipelines) pipeline->add_rows(rounds, report);
  report.notes.push_back("published: " + table->description() +
                         ", GrB_Matrix_build, GxB_Matrix_serialize (LZ4), malloc tuned to keep big blocks");
  if (bits < options.table_bits)
    report.notes.push_back(
        "the table should have 2^" + std::to_string(options.table_bits) +
        " entries, for which there is too little memory: the published method looks faster than it is");
  report.notes.push_back(
      "engine: the graph `trama graph --builtin memory`: packets of raw IP, parsed and cut into windows too");
  return {};
}

}  // namespace trama
