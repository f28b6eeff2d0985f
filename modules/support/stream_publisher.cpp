#include "modules/support/stream_publisher.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <random>

namespace trama {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;
constexpr int kEndingStepMs = 20;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Tells runs apart, also those of another machine; nothing secret.
uint64_t new_run() {
  std::random_device random;
  const uint64_t run = uint64_t{random()} << 32 | random();
  return run == 0 ? 1 : run;
}

}  // namespace

StreamPublisher::StreamPublisher(const StreamConfig& config, StreamListener listener)
    : stream_(listener.url.stream),
      max_bytes_(config.max_bytes),
      beat_ns_(config.beat_ns),
      run_(new_run()),
      socket_(std::move(listener), config.keys),
      history_(config.queue),
      subscribers_({.stream = stream_, .subscribers = config.subscribers, .patience_ns = config.patience_ns}, run_,
                   history_, socket_) {}

bool StreamPublisher::publish(Envelope envelope) {
  envelope.run = run_;
  envelope.stream = stream_;
  StreamFrame frame;
  frame.size = envelope_bytes(envelope);
  std::shared_ptr<uint8_t[]> bytes;
  if (frame.size <= max_bytes_) bytes.reset(new (std::nothrow) uint8_t[frame.size]);
  if (!bytes || write_envelope(envelope, {bytes.get(), frame.size}) != frame.size) {
    pass(envelope.seq);
    return false;
  }
  frame.bytes = std::move(bytes);
  history_.add({envelope.seq, envelope.last_ns, std::move(frame)});
  subscribers_.advance();
  return true;
}

void StreamPublisher::pass(uint64_t seq) {
  history_.pass(seq);
  subscribers_.advance();
}

void StreamPublisher::serve(int wake_fd) {
  const int64_t left_ns = std::max<int64_t>(0, next_beat_ns_ - now_ns());
  socket_.wait(wake_fd, static_cast<int>(std::min(left_ns, beat_ns_) / kMillisecondNs) + 1);
  const int64_t now = now_ns();
  hear(now);
  if (now < next_beat_ns_) return;
  subscribers_.beat(now);
  next_beat_ns_ = now + beat_ns_;
}

void StreamPublisher::finish(int linger_ms) {
  const int64_t until_ns = now_ns() + linger_ms * kMillisecondNs;
  subscribers_.end();
  for (int64_t now = now_ns(); subscribers_.count() > 0 && now < until_ns; now = now_ns()) {
    socket_.wait(-1, kEndingStepMs);
    hear(now);
    subscribers_.beat(now);  // also finds out who is gone
  }
  socket_.close(static_cast<int>(std::max<int64_t>(0, until_ns - now_ns()) / kMillisecondNs));
}

void StreamPublisher::hear(int64_t now_ns) {
  socket_.each(
      [&](const std::string& peer, std::span<const uint8_t> bytes) { subscribers_.hear(peer, bytes, now_ns); });
}

}  // namespace trama
