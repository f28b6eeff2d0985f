// What the compact encoding costs beside blobs with LZ4: bytes and nanoseconds of processor time a packet, one thread,
// windows of 2^17 packets. Repetitions of all cases are mixed at random, so that a busy machine slows all of them
// alike. Readers check what they read, as subscribers' do.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "libclient/formats/blob.hpp"
#include "libclient/formats/compact.hpp"
#include "modules/support/traffic_matrix.hpp"
#include "tests/bench/interleaved.hpp"
#include "tests/bench/traffic_pairs.hpp"

namespace trama {
namespace {

constexpr size_t kWindow = size_t{1} << 17;
constexpr size_t kWindows = 8;  // in turn, so that no branch predictor learns one by heart

using Encoding = std::vector<uint8_t>;

const std::vector<MatrixStorage>& windows_of(bool skewed) {
  const auto make = [](const TrafficPairs& pairs) {
    std::vector<MatrixStorage> windows;
    MatrixBuilder builder(kWindow);
    for (size_t first = 0; first < pairs.source.size(); first += kWindow) {
      windows.emplace_back(kWindow);
      builder.build(&pairs.source[first], &pairs.destination[first], kWindow, IndexOrder::numeric, windows.back());
    }
    return windows;
  };
  static const std::vector<MatrixStorage> uniform = make(uniform_pairs(kWindows * kWindow));
  static const std::vector<MatrixStorage> heavy_tailed = make(skewed_pairs(kWindows * kWindow));
  return skewed ? heavy_tailed : uniform;
}

struct Compact {
  CompactReader reader;
  static size_t bound() { return compact_bound(kWindow); }
  size_t write(const HyperCsr& matrix, std::span<uint8_t> out) { return write_compact(matrix, false, out); }
  size_t read(const Encoding& bytes) {
    const auto read = reader.read(bytes);
    return read ? read->matrix.links() : 0;
  }
};

// With arrays of its own for each matrix, as for readers of single ones.
struct CompactOwned : Compact {
  size_t read(const Encoding& bytes) {
    const auto read = read_compact(bytes);
    return read ? read->links() : 0;
  }
};

struct Lz4Blob {
  BlobWriter writer{kWindow};
  static size_t bound() { return blob_bound(kWindow); }
  size_t write(const HyperCsr& matrix, std::span<uint8_t> out) { return writer.write(matrix, out); }
  size_t read(const Encoding& bytes) {
    const auto read = read_blob(bytes);
    return read ? read->links() : 0;
  }
};

void report(benchmark::State& state, size_t bytes, size_t encodings) {
  state.counters["ns/packet"] = benchmark::Counter(static_cast<double>(state.iterations()) * kWindow * 1e-9,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["bytes/packet"] = static_cast<double>(bytes) / static_cast<double>(encodings * kWindow);
}

template <class Codec>
void write(benchmark::State& state, bool skewed) {
  const auto& windows = windows_of(skewed);
  Codec codec;
  Encoding out(Codec::bound());
  size_t window = 0, bytes = 0;
  for (auto _ : state) {
    bytes += codec.write(windows[window++ % kWindows].view(), out);
    benchmark::ClobberMemory();
  }
  report(state, bytes, window);
}

template <class Codec>
void read(benchmark::State& state, bool skewed) {
  Codec codec;
  std::vector<Encoding> encodings;
  size_t bytes = 0;
  for (const MatrixStorage& window : windows_of(skewed)) {
    Encoding& out = encodings.emplace_back(Codec::bound());
    out.resize(codec.write(window.view(), out));
    bytes += out.size();
  }
  size_t window = 0;
  for (auto _ : state) {
    if (codec.read(encodings[window++ % kWindows]) == 0) state.SkipWithError("not readable");
    benchmark::ClobberMemory();
  }
  report(state, bytes, kWindows);
}

}  // namespace
}  // namespace trama

int main(int argc, char** argv) {
  if (!trama::initialize_interleaved(argc, argv)) return 2;

  for (const bool skewed : {false, true}) {
    const std::string traffic = skewed ? "/Z" : "/U";
    benchmark::RegisterBenchmark(("write/compact" + traffic).c_str(), trama::write<trama::Compact>, skewed);
    benchmark::RegisterBenchmark(("write/lz4_blob" + traffic).c_str(), trama::write<trama::Lz4Blob>, skewed);
    benchmark::RegisterBenchmark(("read/compact" + traffic).c_str(), trama::read<trama::Compact>, skewed);
    benchmark::RegisterBenchmark(("read/compact_owned" + traffic).c_str(), trama::read<trama::CompactOwned>, skewed);
    benchmark::RegisterBenchmark(("read/lz4_blob" + traffic).c_str(), trama::read<trama::Lz4Blob>, skewed);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
