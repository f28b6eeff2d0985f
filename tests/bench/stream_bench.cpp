// Matrix streams: windows of about 600 KB from one publisher to subscribers on the same machine, as many as come
// without a loss. The publisher is never more windows ahead than its queue holds.
//
//   socket     two threads and a pair of sockets of the kernel's: the same bytes, from one buffer into another
//   zmq        ZeroMQ alone: frames of that length, made once, counted and thrown away. What a stream can't exceed
//   verified   what the reading thread of a subscriber hands on: envelopes whose checksum is right
//   decoded    what next() gives: arrays
//
// The column CPU is processor time of all threads, of both sides: it says more than elapsed time on a busy machine.
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <zmq.hpp>

#include "libclient/subscriber.hpp"
#include "libclient/transports/transport.hpp"
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

// How far a reader is; whoever sends waits for it.
class Progress {
 public:
  void reached(uint64_t windows) {
    taken_.store(windows, std::memory_order_release);
    taken_.notify_one();
  }
  void await_room(uint64_t sent) const {
    for (uint64_t taken; (taken = taken_.load(std::memory_order_acquire)) + kAhead < sent;) taken_.wait(taken);
  }

 private:
  std::atomic<uint64_t> taken_{0};
};

// Both take windows until the end.
struct Decoded {
  explicit Decoded(const std::string& url) : subscriber(Subscriber::open(url).value()) {
    while (!subscriber.connected()) std::this_thread::yield();
    thread = std::thread([this] {
      for (Next next; next.outcome != Outcome::ended; next = subscriber.next(std::chrono::seconds(1))) {
        missed += next.window ? next.window->missed : next.missed;
        if (next.window) progress.reached(next.window->info().seq + 1);
      }
    });
  }
  Subscriber subscriber;
  Progress progress;
  uint64_t missed = 0;
  std::thread thread;
};

struct Verified {
  explicit Verified(const std::string& url) : transport(follow_publisher(*parse_stream_url(url), {}, queue, counts)) {
    while (!counts.connected) std::this_thread::yield();
    thread = std::thread([this] {
      uint64_t next = 0;
      for (;;) {
        const auto item = queue.take(std::chrono::steady_clock::now() + std::chrono::seconds(1));
        if (item && item->kind == StreamItem::Kind::end) break;
        if (!item || item->kind != StreamItem::Kind::window) continue;
        missed += item->info.seq - std::exchange(next, item->info.seq + 1);
        progress.reached(next);
      }
      queue.close();
    });
  }
  StreamQueue queue{kAhead};
  TransportCounts counts;
  std::unique_ptr<Transport> transport;
  Progress progress;
  uint64_t missed = 0;
  std::thread thread;
};

template <class Reader>
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
    for (const auto& reader : readers) reader->progress.await_room(seq);
  }
  publisher.finish();
  uint64_t missed = 0;
  for (const auto& reader : readers) {
    reader->thread.join();
    missed += reader->missed;
  }
  state.counters["missed"] = static_cast<double>(missed);
  state.SetItemsProcessed(static_cast<int64_t>(seq));
  state.SetBytesProcessed(static_cast<int64_t>(seq * sample->bytes.size()));
}

// A ROUTER and a DEALER in contexts of their own.
void zmq_alone(benchmark::State& state, const std::string& endpoint) {
  const size_t bytes = uniform_window(EnvelopeEncoding::compact)->bytes.size();
  std::vector<uint8_t> frame(bytes, 1);
  zmq::context_t here, there;
  zmq::socket_t router(here, zmq::socket_type::router), dealer(there, zmq::socket_type::dealer);
  router.set(zmq::sockopt::router_mandatory, true);
  router.bind(endpoint);
  dealer.connect(router.get(zmq::sockopt::last_endpoint));
  dealer.send(zmq::str_buffer("here"), zmq::send_flags::none);
  zmq::message_t peer, word, message;
  (void)!router.recv(peer);
  (void)!router.recv(word);
  Progress progress;
  std::thread reader([&] {
    for (uint64_t taken = 0; dealer.recv(message) && message.size() == bytes;) progress.reached(++taken);
  });
  uint64_t sent = 0;
  const auto keep = [](void*, void*) {};
  for (auto _ : state) {
    router.send(zmq::buffer(peer.data(), peer.size()), zmq::send_flags::sndmore);
    router.send(zmq::message_t(frame.data(), bytes, keep), zmq::send_flags::none);
    progress.await_room(++sent);
  }
  router.send(zmq::buffer(peer.data(), peer.size()), zmq::send_flags::sndmore);
  router.send(zmq::str_buffer("end"), zmq::send_flags::none);
  reader.join();
  state.SetItemsProcessed(static_cast<int64_t>(sent));
  state.SetBytesProcessed(static_cast<int64_t>(sent * bytes));
}

// Two ends that are connected; over TCP on loopback, or on this machine only.
std::array<FileDescriptor, 2> socket_pair(bool tcp) {
  int ends[2];
  if (!tcp) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw std::runtime_error("socketpair");
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  }
  const FileDescriptor listener(socket(AF_INET, SOCK_STREAM, 0));
  FileDescriptor here(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.get(), any, size) != 0 || listen(listener.get(), 1) != 0 ||
      getsockname(listener.get(), any, &size) != 0 || connect(here.get(), any, size) != 0)
    throw std::runtime_error("loopback");
  return {std::move(here), FileDescriptor(accept(listener.get(), nullptr, nullptr))};
}

void sockets_alone(benchmark::State& state, bool tcp) {
  const size_t bytes = uniform_window(EnvelopeEncoding::compact)->bytes.size();
  std::vector<uint8_t> from(bytes, 1), to(bytes);
  const auto ends = socket_pair(tcp);
  Progress progress;
  std::thread reader([&] {
    for (uint64_t taken = 0; recv(ends[1].get(), to.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);)
      progress.reached(++taken);
  });
  uint64_t sent = 0;
  for (auto _ : state) {
    for (size_t at = 0; at < bytes;) at += static_cast<size_t>(send(ends[0].get(), &from[at], bytes - at, 0));
    progress.await_room(++sent);
  }
  shutdown(ends[0].get(), SHUT_WR);
  reader.join();
  state.SetItemsProcessed(static_cast<int64_t>(sent));
  state.SetBytesProcessed(static_cast<int64_t>(sent * bytes));
}

constexpr const char* kAnyPort = "trama+tcp://127.0.0.1:0/bench";

// 100 windows a second: how long each takes from the publisher's hands to the subscriber's, decoded.
void latency(benchmark::State& state, EnvelopeEncoding encoding) {
  using Clock = std::chrono::steady_clock;
  const auto sample = uniform_window(encoding);
  test::PublisherThread publisher({}, parse_stream_url(kAnyPort).value());
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

void of_all_threads(benchmark::internal::Benchmark* benchmark) {
  benchmark->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kMicrosecond);
}

template <class Reader>
void add_streams(const std::string& name, const std::string& url, EnvelopeEncoding encoding) {
  const auto run = [=](benchmark::State& state) { stream<Reader>(state, url, encoding); };
  of_all_threads(benchmark::RegisterBenchmark(name.c_str(), run)->Arg(1)->Arg(3));
}

void add_way(const std::string& way, const std::string& endpoint, const std::string& url) {
  of_all_threads(benchmark::RegisterBenchmark((way + "/socket").c_str(),
                                              [=](benchmark::State& state) { sockets_alone(state, way == "tcp"); }));
  of_all_threads(benchmark::RegisterBenchmark((way + "/zmq").c_str(),
                                              [=](benchmark::State& state) { zmq_alone(state, endpoint); }));
  add_streams<Verified>(way + "/verified/compact", url, EnvelopeEncoding::compact);
  add_streams<Decoded>(way + "/decoded/compact", url, EnvelopeEncoding::compact);
  add_streams<Decoded>(way + "/decoded/blob", url, EnvelopeEncoding::blob_lz4);
}

}  // namespace
}  // namespace trama

int main(int argc, char** argv) {
  using namespace trama;
  const test::ScratchFolder folder;
  add_way("ipc", "ipc://" + (folder / "zmq").string(), "trama+ipc://" + (folder / "stream").string());
  add_way("tcp", "tcp://127.0.0.1:*", kAnyPort);
  for (const auto& [name, encoding] :
       {std::pair("latency/blob", EnvelopeEncoding::blob_lz4), std::pair("latency/compact", EnvelopeEncoding::compact)})
    benchmark::RegisterBenchmark(name, latency, encoding)->Iterations(1000)->UseRealTime();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
