// Matrix streams: windows of about 600 KB from one publisher to subscribers on the same machine, decoded by each of
// them. As many as come without a loss: the publisher is never more windows ahead than its queue holds.
#include <benchmark/benchmark.h>

#include <atomic>
#include <thread>

#include "libclient/subscriber.hpp"
#include "tests/libclient/stream_feeds.hpp"

namespace trama {
namespace {

constexpr size_t kPackets = 40'000;  // of a window: each another link
constexpr uint64_t kAhead = 8;

std::unique_ptr<test::SampleWindow> uniform_window() {
  std::mt19937_64 random(1);
  auto sample = test::sample_window(0, 1);
  sample->arrays = test::random_window(random, kPackets, test::Traffic::uniform);
  sample->bytes = test::serialized(sample->arrays.view(), EnvelopeEncoding::blob_lz4);
  Envelope& envelope = sample->envelope;
  envelope.window_packets = envelope.packets = envelope.verdicts.counted = kPackets;
  envelope.links = sample->arrays.column.size();
  envelope.matrix = sample->bytes;
  return sample;
}

// Takes windows until the end.
struct Reader {
  explicit Reader(const std::string& url) : subscriber(Subscriber::open(url).value()) {
    while (!subscriber.connected()) std::this_thread::yield();
    thread = std::thread([this] {
      for (Next next; next.outcome != Outcome::ended; next = subscriber.next(std::chrono::seconds(1))) {
        missed += next.window ? next.window->missed : next.missed;
        if (next.window) taken.store(next.window->info().seq + 1, std::memory_order_release);
      }
    });
  }
  Subscriber subscriber;
  std::atomic<uint64_t> taken{0};
  uint64_t missed = 0;
  std::thread thread;
};

void stream(benchmark::State& state, const std::string& url) {
  const auto sample = uniform_window();
  StreamConfig config;
  config.queue = 2 * kAhead;
  test::PublisherThread publisher(config, parse_stream_url(url).value());
  std::vector<std::unique_ptr<Reader>> readers;
  for (int64_t i = 0; i < state.range(0); ++i) readers.push_back(std::make_unique<Reader>(publisher.url().text()));
  uint64_t seq = 0;
  for (auto _ : state) {
    sample->envelope.seq = seq++;
    publisher.publish(sample->envelope);
    for (const auto& reader : readers)
      while (reader->taken.load(std::memory_order_acquire) + kAhead < seq) std::this_thread::yield();
  }
  publisher.finish();
  uint64_t missed = 0;
  for (const auto& reader : readers) {
    reader->thread.join();
    missed += reader->missed;
  }
  state.counters["missed"] = static_cast<double>(missed);
  state.counters["bytes"] = static_cast<double>(sample->bytes.size());
  state.SetItemsProcessed(static_cast<int64_t>(seq));
}

void tcp(benchmark::State& state) { stream(state, "trama+tcp://127.0.0.1:0/bench"); }
void ipc(benchmark::State& state) {
  const test::ScratchFolder folder;
  stream(state, "trama+ipc://" + (folder / "socket").string());
}
BENCHMARK(tcp)->Arg(1)->Arg(3)->UseRealTime();
BENCHMARK(ipc)->Arg(1)->Arg(3)->UseRealTime();

}  // namespace
}  // namespace trama

BENCHMARK_MAIN();
