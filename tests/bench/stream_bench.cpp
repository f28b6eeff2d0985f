// Matrix streams: windows of about 600 KB from one publisher to subscribers on the same machine, decoded by each of
// them. As many as come without a loss: the publisher is never more windows ahead than its queue holds.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "libclient/subscriber.hpp"
#include "tests/libclient/stream_feeds.hpp"

namespace trama {
namespace {

constexpr uint64_t kAhead = 8;

// Packets of which each is another link: those that make 600 KB.
constexpr size_t packets_of(EnvelopeEncoding encoding) {
  return encoding == EnvelopeEncoding::compact ? 89'000 : 40'000;
}

std::unique_ptr<test::SampleWindow> uniform_window(EnvelopeEncoding encoding) {
  const size_t packets = packets_of(encoding);
  std::mt19937_64 random(1);
  auto sample = test::sample_window(0, 1);
  sample->arrays = test::random_window(random, packets, test::Traffic::uniform);
  sample->bytes = test::serialized(sample->arrays.view(), encoding);
  Envelope& envelope = sample->envelope;
  envelope.window_packets = envelope.packets = envelope.verdicts.counted = packets;
  envelope.encoding = encoding;
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

void stream(benchmark::State& state, const std::string& url, EnvelopeEncoding encoding) {
  const auto sample = uniform_window(encoding);
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

void tcp(benchmark::State& state, EnvelopeEncoding encoding) {
  stream(state, "trama+tcp://127.0.0.1:0/bench", encoding);
}
void ipc(benchmark::State& state, EnvelopeEncoding encoding) {
  const test::ScratchFolder folder;
  stream(state, "trama+ipc://" + (folder / "socket").string(), encoding);
}
BENCHMARK_CAPTURE(tcp, blob, EnvelopeEncoding::blob_lz4)->Arg(1)->Arg(3)->UseRealTime();
BENCHMARK_CAPTURE(tcp, compact, EnvelopeEncoding::compact)->Arg(1)->Arg(3)->UseRealTime();
BENCHMARK_CAPTURE(ipc, blob, EnvelopeEncoding::blob_lz4)->Arg(1)->Arg(3)->UseRealTime();
BENCHMARK_CAPTURE(ipc, compact, EnvelopeEncoding::compact)->Arg(1)->Arg(3)->UseRealTime();

// 100 windows a second: how long each takes from the publisher's hands to the subscriber's, decoded.
void latency(benchmark::State& state, EnvelopeEncoding encoding) {
  using Clock = std::chrono::steady_clock;
  const auto sample = uniform_window(encoding);
  test::PublisherThread publisher({}, parse_stream_url("trama+tcp://127.0.0.1:0/bench").value());
  auto subscriber = Subscriber::open(publisher.url().text()).value();
  while (!subscriber.connected()) std::this_thread::yield();
  std::vector<double> took_ms;
  uint64_t seq = 0;
  auto due = Clock::now();
  for (auto _ : state) {
    std::this_thread::sleep_until(due += std::chrono::milliseconds(10));
    sample->envelope.seq = seq++;
    const auto published = Clock::now();
    publisher.publish(sample->envelope);
    Next next;
    while (!next.window) next = subscriber.next(std::chrono::seconds(10));
    took_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - published).count());
  }
  publisher.finish();
  std::sort(took_ms.begin(), took_ms.end());
  state.counters["p50_ms"] = took_ms[took_ms.size() / 2];
  state.counters["p99_ms"] = took_ms[took_ms.size() * 99 / 100];
}
BENCHMARK_CAPTURE(latency, blob, EnvelopeEncoding::blob_lz4)->Iterations(1000)->UseRealTime();
BENCHMARK_CAPTURE(latency, compact, EnvelopeEncoding::compact)->Iterations(1000)->UseRealTime();

}  // namespace
}  // namespace trama

BENCHMARK_MAIN();
