// trama bench stages: each step of the pipeline alone, beside its baseline, on one core.
#include <algorithm>

#include "control/bench/engine.hpp"
#include "control/bench/graphblas.hpp"
#include "control/bench/openssl.hpp"
#include "control/bench/options.hpp"
#include "control/bench/window.hpp"
#include "libclient/formats/blob.hpp"
#include "modules/support/traffic_matrix.hpp"

namespace trama {
namespace {

constexpr size_t kBurst = 1024;             // packets whose headers are walked: they stay in cache
constexpr uint64_t kBatchesAWindow = 1250;  // of the engine's measurement, so that it takes as long as the others

// Every step of one kind of traffic, ours and the baseline, on the same windows.
class Steps {
 public:
  Steps(const BenchOptions& options, TrafficModel model)
      : options_(options),
        model_(model),
        windows_(model, options.window_packets, options.windows),
        wide_source_(windows_.pairs().source.begin(), windows_.pairs().source.end()),
        wide_destination_(windows_.pairs().destination.begin(), windows_.pairs().destination.end()),
        crypto_pan_(kBenchKey),
        openssl_(kBenchKey),
        source_(options.window_packets),
        destination_(options.window_packets),
        builder_(options.window_packets),
        library_(options.window_packets),
        writer_(options.window_packets),
        blob_(writer_.bound()) {
    for (size_t window = 0; window < windows_.distinct(); ++window) matrices_.emplace_back(options.window_packets);
  }

  // Does everything once, which warms it up, and compares the results.
  Expected<void> check_sameness() {
    TrafficPairs theirs;
    if (!openssl(0)) return failure("OpenSSL can't encrypt");
    theirs = {source_, destination_};
    anonymize(0);
    if (source_ != theirs.source || destination_ != theirs.destination)
      return failure("ours and OpenSSL anonymize the same addresses differently, so that nothing was measured");
    size_t own_bytes = 0, library_bytes = 0;
    for (size_t window = 0; window < windows_.distinct(); ++window) {
      if (!build(window) || !serialize(window) || !library_build(window)) return failure("a matrix can't be built");
      const std::span<const uint8_t> library_blob = library_.serialize();
      if (auto same = same_matrices({blob_.data(), blob_bytes_}, library_blob); !same) return same;
      own_bytes += blob_bytes_;
      library_bytes += library_blob.size();
    }
    const auto packets = static_cast<double>(windows_.distinct() * options_.window_packets);
    own_bytes_ = static_cast<double>(own_bytes) / packets;
    library_bytes_ = static_cast<double>(library_bytes) / packets;
    return {};
  }

  void add_to(Rounds& rounds) {
    const auto add = [&](bool (Steps::*step)(size_t)) {
      first_ = std::min(first_, rounds.add([this, step] {
        return timed(options_.packets(), [this, step] {
          for (size_t window = 0; window < options_.windows; ++window)
            if (!(this->*step)(window)) return false;
          return true;
        });
      }));
    };
    add(&Steps::anonymize);
    add(&Steps::openssl);
    add(&Steps::build);
    add(&Steps::library_build);
    add(&Steps::serialize);
    add(&Steps::library_serialize);
  }

  void add_rows(const Rounds& rounds, BenchReport& report) const {
    const auto row = [&](const char* step, size_t number, BenchSide ours, BenchSide baseline) {
      ours.ns = rounds.cpu(first_ + number);
      baseline.ns = rounds.cpu(first_ + number + 1);
      report.rows.push_back({step, traffic_letter(model_), 0, Clock::cpu, std::move(ours), std::move(baseline)});
    };
    row("anonymize", 0, {"CryptoPan", {}, {}}, {"OpenSSL, 64 blocks", {}, {}});
    row("build", 2, {"MatrixBuilder", {}, {}}, {"GrB_Matrix_build", {}, {}});
    row("serialize", 4, {"BlobWriter, LZ4", {}, own_bytes_}, {"GxB_Matrix_serialize, LZ4", {}, library_bytes_});
  }

 private:
  bool anonymize(size_t window) {
    const WindowView pairs = windows_[window];
    crypto_pan_.anonymize(pairs.source, source_.data(), pairs.packets);
    crypto_pan_.anonymize(pairs.destination, destination_.data(), pairs.packets);
    return true;
  }
  bool openssl(size_t window) {
    const WindowView pairs = windows_[window];
    for (size_t i = 0; i < pairs.packets; ++i) {
      source_[i] = pairs.source[i];
      destination_[i] = pairs.destination[i];
      openssl_.anonymize(source_[i], destination_[i]);
    }
    return true;
  }
  MatrixStorage& matrix(size_t window) { return matrices_[window % matrices_.size()]; }
  bool build(size_t window) {
    const WindowView pairs = windows_[window];
    builder_.build(pairs.source, pairs.destination, pairs.packets, IndexOrder::numeric, matrix(window));
    return matrix(window).view().links() > 0;
  }
  bool library_build(size_t window) {
    const size_t first = window % windows_.distinct() * options_.window_packets;
    return library_.build(&wide_source_[first], &wide_destination_[first], options_.window_packets) &&
           library_.links() > 0;
  }
  bool serialize(size_t window) {
    blob_bytes_ = writer_.write(matrix(window).view(), blob_);
    return blob_bytes_ > 0;
  }
  // Of the matrix that was built last: one is as good as another.
  bool library_serialize(size_t) { return !library_.serialize().empty(); }

  const BenchOptions& options_;
  const TrafficModel model_;
  const TrafficWindows windows_;
  const std::vector<uint64_t> wide_source_, wide_destination_;
  const CryptoPan crypto_pan_;
  OpenSslCryptoPan openssl_;
  std::vector<uint32_t> source_, destination_;
  MatrixBuilder builder_;
  std::vector<MatrixStorage> matrices_;
  GraphBlasWindow library_;
  BlobWriter writer_;
  std::vector<uint8_t> blob_;
  size_t blob_bytes_ = 0;
  double own_bytes_ = 0, library_bytes_ = 0;
  size_t first_ = SIZE_MAX;  // number of the first of six measurements
};

// The header walk: packets in cache, over and over again.
class Walk {
 public:
  Walk(const BenchOptions& options, Frames::Link link)
      : packets_(options.packets()),
        frames_(link, draw_pairs(TrafficModel::uniform, kBurst)),
        source_(kBurst + 1),
        destination_(kBurst + 1) {}
  Expected<Cost> run() {
    const uint64_t bursts = (packets_ + kBurst - 1) / kBurst;
    return timed(bursts * kBurst, [&] {
      for (uint64_t burst = 0; burst < bursts; ++burst)
        if (frames_.walk_window(0, kBurst, source_.data(), destination_.data()) != kBurst) return false;
      return true;
    });
  }

 private:
  const uint64_t packets_;
  const Frames frames_;
  std::vector<uint32_t> source_, destination_;
};

}  // namespace

Expected<void> bench_stages(const BenchOptions& options, BenchReport& report) {
  report.title = "each step alone, one core";
  if (!start_graphblas()) return failure("GraphBLAS can't be started");
  std::vector<std::unique_ptr<Steps>> all;
  Rounds rounds;
  for (const TrafficModel model : options.traffic) {
    all.push_back(std::make_unique<Steps>(options, model));
    if (auto same = all.back()->check_sameness(); !same) return same;
    all.back()->add_to(rounds);
  }
  Walk raw_ip(options, Frames::Link::raw_ip), ethernet(options, Frames::Link::ethernet);
  const size_t raw_ip_walk = rounds.add([&] { return raw_ip.run(); });
  const size_t ethernet_walk = rounds.add([&] { return ethernet.run(); });
  const size_t passes = rounds.add([&] { return run_ten_passes(options.windows * kBatchesAWindow); });
  if (auto ran = rounds.run(options.rounds, Rounds::WarmUp::yes, options.progress); !ran) return ran;

  for (const auto& steps : all) steps->add_rows(rounds, report);
  const auto add = [&](const char* step, const char* name, size_t number) {
    report.rows.push_back({step, "", 0, Clock::cpu, BenchSide{name, rounds.cpu(number), {}}, {}});
  };
  add("header walk, raw IP", "walk()", raw_ip_walk);
  add("header walk, Ethernet", "walk()", ethernet_walk);
  add("ten pass stages", "engine, one worker", passes);
  report.notes.push_back(
      "packets of the header walk: 64 bytes, in cache; the engine's: batches of 1024 without packets in them");
  return {};
}

}  // namespace trama
