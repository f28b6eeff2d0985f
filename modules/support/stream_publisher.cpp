#include "modules/support/stream_publisher.hpp"

#include <algorithm>
#include <chrono>
#include <random>

namespace trama {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;
constexpr int kEndingStepMs = 20;
constexpr size_t kAnswersAtOnce = 64;  // taken at once, so that those who are live wait for nobody

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

uint64_t new_stream_run() {
  std::random_device random;
  const uint64_t run = uint64_t{random()} << 32 | random();
  return run == 0 ? 1 : run;
}

StreamPublisher::StreamPublisher(const StreamConfig& config, StreamListener listener)
    : stream_(listener.url.stream),
      max_bytes_(config.max_bytes),
      beat_ns_(config.beat_ns),
      socket_(std::move(listener), config.keys),
      history_(config.queue),
      subscribers_({.stream = stream_, .subscribers = config.subscribers, .patience_ns = config.patience_ns}, history_,
                   socket_, config.archives ? &replay_.emplace(config.archives, config.max_bytes) : nullptr) {
  if (config.passes_on) return;
  begin_run(new_stream_run(), 0);
  if (replay_) replay_->begin({run_, config.sensor, stream_});
}

void StreamPublisher::begin_run(uint64_t run, uint64_t seq) {
  if (run_ != 0) subscribers_.leave_run();
  run_ = run;
  history_.restart(seq);
  subscribers_.begin_run(run);
}

bool StreamPublisher::publish(Envelope envelope) {
  envelope.run = run_;
  envelope.stream = stream_;
  return keep(envelope);
}

bool StreamPublisher::pass_on(const Envelope& envelope) {
  if (envelope.run != run_) begin_run(envelope.run, envelope.seq);
  return envelope.seq < history_.next() || keep(envelope);
}

bool StreamPublisher::keep(const Envelope& envelope) {
  StreamFrame frame = make_frame(envelope, max_bytes_);
  if (!frame.bytes) {
    pass(envelope.seq);
    return false;
  }
  history_.add({envelope.seq, envelope.last_ns, std::move(frame)});
  subscribers_.advance();
  return true;
}

void StreamPublisher::pass_below(uint64_t seq) {
  history_.pass_below(seq);
  subscribers_.advance();
}

void StreamPublisher::serve(int wake_fd) {
  const int64_t left_ns = std::max<int64_t>(0, next_beat_ns_ - now_ns());
  socket_.wait(wake_fd, replay_descriptor(), static_cast<int>(std::min(left_ns, beat_ns_) / kMillisecondNs) + 1);
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
    socket_.wait(-1, replay_descriptor(), kEndingStepMs);
    hear(now);
    subscribers_.beat(now);  // also finds out who is gone
  }
  socket_.close(static_cast<int>(std::max<int64_t>(0, until_ns - now_ns()) / kMillisecondNs));
}

void StreamPublisher::hear(int64_t now_ns) {
  socket_.each(
      [&](const std::string& peer, std::span<const uint8_t> bytes) { subscribers_.hear(peer, bytes, now_ns); });
  if (!replay_) return;
  for (size_t taken = 0; taken < kAnswersAtOnce; ++taken) {
    const auto answer = replay_->take();
    if (!answer) break;
    subscribers_.replay(*answer);
  }
}

}  // namespace trama
