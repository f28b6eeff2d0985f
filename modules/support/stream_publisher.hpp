// A stream of windows, as its publisher sees it: listens, keeps the last windows, and serves subscribers, on the thread
// of whoever calls it.
//
//   StreamPublisher publisher(config, *StreamListener::open(url));
//   publisher.publish(envelope);
//   publisher.serve(wake_fd);   // again and again: waits a second at most
//   publisher.finish(2000);
#pragma once
#include <cstdint>
#include <string>

#include "libclient/formats/envelope.hpp"
#include "modules/support/stream_history.hpp"
#include "modules/support/stream_socket.hpp"
#include "modules/support/stream_subscribers.hpp"

namespace trama {

struct StreamConfig {
  size_t queue = 16;                        // windows kept: so far behind may a subscriber be, and a late one begin
  size_t subscribers = 64;                  // at a time
  uint64_t max_bytes = uint64_t{64} << 20;  // the longest envelope; longer windows are not sent
  int64_t beat_ns = 1'000'000'000;          // between two heartbeats
  int64_t patience_ns = 10'000'000'000;     // as StreamLimits'
  StreamKeys keys;
};

class StreamPublisher {
 public:
  // Starts threads of ZeroMQ's, which block all signals. Throws zmq::error_t.
  StreamPublisher(const StreamConfig& config, StreamListener listener);

  uint64_t run() const { return run_; }

  // Takes a copy; `run` and `stream` of the envelope are set here. Numbers ascend. False: it is longer than max_bytes,
  // a text is too long, or memory is short; subscribers are then told that this number was lost. Throws zmq::error_t.
  bool publish(Envelope envelope);

  // This window has been lost before it could be published.
  void pass(uint64_t seq);

  // Hears subscribers and sends them what they have room for. Returns when `wake_fd` (or -1) is readable, or something
  // was heard, or a heartbeat was due. Throws zmq::error_t.
  void serve(int wake_fd);

  // No more windows come: serves until everybody has everything and the end, as long as that, and closes.
  void finish(int linger_ms);

  size_t subscribers() const { return subscribers_.count(); }
  const StreamTotals& totals() const { return subscribers_.totals(); }

 private:
  void hear(int64_t now_ns);

  const std::string stream_;
  const uint64_t max_bytes_;
  const int64_t beat_ns_;
  const uint64_t run_;
  StreamSocket socket_;
  StreamHistory history_;
  StreamSubscribers subscribers_;
  int64_t next_beat_ns_ = 0;
};

}  // namespace trama
