// A stream of windows over NATS, as its publisher sees it: each window goes out once to whoever listens, and again and
// again until the server's JetStream says that it is stored. Connections come and go; windows that aren't stored yet
// wait in a queue of bounded length.
//
//   NatsPublisher publisher(config, say);
//   publisher.publish(envelope);
//   publisher.serve(wake_fd);   // again and again: waits a second at most
//   publisher.finish(2000);
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "libclient/formats/stream_note.hpp"
#include "libclient/transports/nats_link.hpp"
#include "modules/support/nats_outbox.hpp"
#include "modules/support/nats_store_setup.hpp"
#include "modules/support/window_outlet.hpp"

namespace trama {

struct NatsConfig {
  StreamUrl url;
  NatsAccess access;
  NatsStoreConfig store;
  size_t queue = 16;                        // windows that aren't known to be stored
  uint64_t max_bytes = uint64_t{64} << 20;  // as StreamConfig's
  int64_t beat_ns = 1'000'000'000;          // between two heartbeats
  int64_t answer_ns = 5'000'000'000;        // without an answer by then, a window is sent again
};

// Error: files that can't be used, a build without NATS.
Expected<MakeOutlet> open_nats_outlet(const NatsConfig& config);

class NatsPublisher final : public WindowOutlet {
 public:
  // Starts threads of the NATS library, which block all signals. Throws std::runtime_error.
  NatsPublisher(const NatsConfig& config, SayDiagnostic say);

  uint64_t run() const { return run_; }
  bool publish(const Envelope& envelope) override;
  void pass(uint64_t seq) override;
  void serve(int wake_fd) override;
  void finish(int linger_ms) override;
  std::string url() const override { return at_; }
  OutletCounts counts() const override;
  std::optional<Diagnostic> account() const override;

  const NatsOutbox::Totals& totals() const { return outbox_.totals(); }
  size_t waiting() const { return outbox_.size(); }

 private:
  void advance();
  void hear();
  void hear_setup(const NatsMessage& message);
  void hear_word(uint64_t seq, const NatsMessage& message);
  void see_connection(int64_t now_ns);
  void open_again(int64_t now_ns);
  void ask_setup(int64_t now_ns);
  void send_windows(int64_t now_ns);
  void refuse(uint64_t seq);
  void beat(NoteKind kind, const std::string& answer_to = "");
  int64_t next_deadline() const;
  void wait(int wake_fd, int64_t until_ns);
  void say_once(std::string& said, Severity severity, std::string text, std::string hint);

  const NatsConfig config_;
  const SayDiagnostic say_;
  const std::string at_;  // the URL, for messages
  const uint64_t run_;
  NatsOutbox outbox_;
  NatsStoreSetup setup_;
  std::unique_ptr<NatsLink> link_;
  uint64_t connections_ = 0;  // that were seen
  int64_t setup_due_ns_ = 0, hold_until_ns_ = 0, next_beat_ns_ = 0, open_again_ns_ = 0;
  uint64_t setup_question_ = 0, end_stored_ = 0;
  bool greeted_ = false, connected_ = false;
  std::string said_connection_, said_setup_, said_store_, said_length_;
};

}  // namespace trama
