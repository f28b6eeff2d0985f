// A stream of windows, as its publisher sees it: listens, keeps the last windows, and serves subscribers, on the thread
// of whoever calls it.
//
//   StreamPublisher publisher(config, *StreamListener::open(url));
//   publisher.publish(envelope);
//   publisher.serve(wake_fd);   // again and again: waits a second at most
//   publisher.finish(2000);
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "libclient/formats/envelope.hpp"
#include "modules/support/stream_history.hpp"
#include "modules/support/stream_replay.hpp"
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
  // Runs are those of another publisher, whose windows pass_on() is given; nobody is answered before the first.
  bool passes_on = false;
  // What is older than the queue is read from the archives that this run writes; null: it is lost.
  std::shared_ptr<const ArchiveLog> archives;
  std::string sensor;  // of the windows that are read there
};

// Tells runs apart, also those of another machine; nothing secret, and not 0.
uint64_t new_stream_run();

class StreamPublisher {
 public:
  // Starts threads of ZeroMQ's, which block all signals. Throws zmq::error_t and std::system_error.
  StreamPublisher(const StreamConfig& config, StreamListener listener);

  uint64_t run() const { return run_; }              // 0: none has begun
  uint64_t next() const { return history_.next(); }  // the least number of it that may still come

  // Takes a copy; `run` and `stream` of the envelope are set here. Numbers ascend. False: it is longer than max_bytes,
  // a text is too long, or memory is short; subscribers are then told that this number was lost. Throws zmq::error_t.
  bool publish(Envelope envelope);

  // The same with the run and the stream that the envelope names. Another run than before begins anew, with this
  // window: subscribers go over to it, and what they hadn't got of the one before is lost and told. Numbers that have
  // passed are left out.
  bool pass_on(const Envelope& envelope);

  // This window has been lost before it could be published; or: all that are below this number and haven't come.
  void pass(uint64_t seq) { pass_below(seq + 1); }
  void pass_below(uint64_t seq);

  // Hears subscribers and sends them what they have room for. Returns when `wake_fd` (or -1) is readable, or something
  // was heard, or a heartbeat was due. Throws zmq::error_t.
  void serve(int wake_fd);

  // No more windows come: serves until everybody has everything and the end, as long as that, and closes.
  void finish(int linger_ms);

  size_t subscribers() const { return subscribers_.count(); }
  const StreamTotals& totals() const { return subscribers_.totals(); }
  uint64_t shut_out() const { return socket_.shut_out(); }  // connections, for want of a right key

 private:
  bool keep(const Envelope& envelope);
  void begin_run(uint64_t run, uint64_t seq);
  void hear(int64_t now_ns);
  int replay_descriptor() const { return replay_ ? replay_->descriptor() : -1; }

  const std::string stream_;
  const uint64_t max_bytes_;
  const int64_t beat_ns_;
  uint64_t run_ = 0;
  StreamSocket socket_;
  StreamHistory history_;
  std::optional<StreamReplay> replay_;
  StreamSubscribers subscribers_;
  int64_t next_beat_ns_ = 0;
};

}  // namespace trama
