// publish: sends finished windows to whoever subscribes, as they come.
//
//   links = ["by_number -> archive, publish"]
//   [stages.publish]
//   url = "trama+tcp://127.0.0.1:7801/roof"
//   queue = 16                     # windows kept for subscribers that are slow, or come late
//   server_key_file = "roof.curve" # for other machines: with keys, or insecure = true
//   clients_file = "clients.txt"
//
// A sink of SerializedMatrix, in order, blobs and compact matrices alike. It holds nobody up: windows that come while
// its slots are taken pass it by, a subscriber that is slow loses windows of its own, and all of them are told which.
// Sending is done by a thread behind the stage. docs/streams.md
#include <poll.h>
#include <sys/resource.h>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/run_identity.hpp"
#include "modules/support/run_report.hpp"
#include "modules/support/run_start.hpp"
#include "modules/support/stream_keys.hpp"
#include "modules/support/stream_publisher.hpp"
#include "modules/support/stream_thread.hpp"
#include "modules/support/window_facts.hpp"

namespace trama {
namespace {

EnvelopeEncoding encoding_of(const SerializedMatrix& window) {
  if (window.skip) return EnvelopeEncoding::tail;
  if (window.encoding == MatrixEncoding::compact) return EnvelopeEncoding::compact;
  switch (window.compression) {
    case Compression::none: return EnvelopeEncoding::blob_plain;
    case Compression::lz4: return EnvelopeEncoding::blob_lz4;
    case Compression::zstd: break;
  }
  return EnvelopeEncoding::blob_zstd;
}

constexpr int kLookMs = 20;  // whether the run has begun

struct Surroundings {
  std::shared_ptr<RunIdentity> identity;
  std::shared_ptr<RunReport> report;
  std::shared_ptr<RunStart> start;
};

class Publish final : public Stage<SerializedMatrix, Nothing> {
 public:
  struct Parameters {
    std::string url, sensor, server_key_file, clients_file;
    uint64_t queue = 16, subscribers = 64, max_bytes = 64u << 20;
    double linger = 2;
    bool insecure = false;
    void bind(ParameterBinder& binder) {
      binder.text("url", url, "where to listen: trama+tcp://HOST:PORT/STREAM or trama+ipc://PATH");
      binder.text("sensor", sensor, "name of this observer, for the envelopes");
      binder.integer("queue", queue, 1, 4096, "windows kept for subscribers that are slow or come late");
      binder.integer("subscribers", subscribers, 1, 4096, "the most subscribers at a time");
      binder.integer("max_bytes", max_bytes, 1024, uint64_t{2} << 30, "longer envelopes are not sent");
      binder.seconds("linger", linger, 0, 3600, "at the end: the longest wait for subscribers to take what is left");
      binder.flag("insecure", insecure, "let other machines listen without keys and encryption");
      binder.text("server_key_file", server_key_file, "secret key of this publisher; subscribers then need keys, too");
      binder.text("clients_file", clients_file, "public keys of those who may subscribe, one a line");
      if (binder.reading()) check(binder);
    }

   private:
    void check(ParameterBinder& binder) const;
  };
  static constexpr StageInfo kInfo{.kind = "publish",
                                   .summary = "sends finished windows to subscribers",
                                   .ordering = Ordering::needs,
                                   .may_lose = 8};

  static Expected<StageFactory> make(const Parameters& parameters, const SetupContext& context) {
    StreamConfig config;
    config.queue = parameters.queue;
    config.subscribers = parameters.subscribers;
    config.max_bytes = parameters.max_bytes;
    if (!parameters.server_key_file.empty()) {
      auto keys = load_stream_keys(parameters.server_key_file, parameters.clients_file);
      if (!keys) return tl::unexpected(std::move(keys.error()));
      config.keys = std::move(*keys);
    }
    // Whoever connects takes a descriptor, also before it has said anything: leave some for archives.
    if (rlimit files{}; getrlimit(RLIMIT_NOFILE, &files) == 0) {
      files.rlim_cur = files.rlim_max;
      setrlimit(RLIMIT_NOFILE, &files);
    }
    // Opened here, with the privileges that a port may need; what is in the way is said before the first packet.
    auto listener = StreamListener::open(parse_stream_url(parameters.url).value());
    if (!listener) return tl::unexpected(std::move(listener.error()));
    const auto shared = std::make_shared<StreamListener>(std::move(*listener));
    Services& services = context.services;
    const Surroundings around{services.get<RunIdentity>(), services.get<RunReport>(), services.get<RunStart>()};
    return StageFactory([=](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<Publish>(parameters, config, std::move(*shared), around, replica);
    });
  }
  Publish(const Parameters& parameters, StreamConfig config, StreamListener listener, Surroundings around,
          const ReplicaContext& context)
      : sensor_(parameters.sensor),
        window_packets_(context.sizes.window_items),
        linger_ms_(static_cast<int>(parameters.linger * 1e3)),
        config_(std::move(config)),
        around_(std::move(around)),
        listener_(std::move(listener)),
        thread_(context, {[this](SerializedMatrix* window, OutputBase* output) { take(*window, *output); },
                          [this](int wake_fd) { serve(wake_fd); }, [this] { finish(); }}) {}

  Step process(SerializedMatrix& in, Output<Nothing>& out) override {
    thread_.hand(&in, out);
    return Step::done;
  }
  Step drain(Output<Nothing>&) override { return thread_.finish(); }

 private:
  // All below runs on the thread.
  void take(SerializedMatrix& window, OutputBase& output) {
    guard([&] {
      if (window.skip || window.bytes > 0) {
        if (!publisher().publish(envelope_of(window))) say_too_long();
      } else {
        publisher().pass(window.seq);
      }
    });
    output.release(&window);
  }
  void serve(int wake_fd) {
    if (around_.start->begun()) guard([&] { publisher().serve(wake_fd); });
    pollfd event{wake_fd, POLLIN, 0};
    if (failed_) poll(&event, 1, -1);
    if (!around_.start->begun()) poll(&event, 1, kLookMs);
  }
  void finish() {
    if (!publisher_) return;  // the run never began
    guard([&] { publisher_->finish(linger_ms_); });
    if (failed_) return;
    const StreamTotals& totals = publisher_->totals();
    if (totals.joined == 0) return;
    around_.report->say({Severity::note,
                         {},
                         std::to_string(totals.joined) + " subscribed, and were sent " + std::to_string(totals.sent) +
                             " windows in all; slow ones lost " + std::to_string(totals.lost),
                         ""});
  }

  StreamPublisher& publisher() {
    if (publisher_) return *publisher_;
    const std::string url = listener_.url.text();
    publisher_.emplace(config_, std::move(listener_));
    config_.keys = {};  // the publisher has them
    around_.report->say({Severity::note, {}, "publishing at " + url, ""});
    return *publisher_;
  }

  // What the texts of the envelope point into lives as long as the window, or until the next call.
  Envelope envelope_of(const SerializedMatrix& window) {
    const KeyIdentity& key = window.key->identity;
    Envelope envelope;
    envelope.seq = window.seq;
    envelope.window_packets = window_packets_;
    envelope.verdicts = verdict_counts(window.tally);
    envelope.dropped = {window.tally.dropped_kernel, window.tally.dropped_nic, window.tally.dropped_ring};
    envelope.removed_in_kernel = window.tally.removed_in_kernel;
    envelope.closed_by = window.closed_by;
    envelope.encoding = encoding_of(window);
    envelope.sensor = sensor_;
    envelope.graph = around_.identity->graph;
    envelope.anonymization = key.anonymization;
    envelope.key = key.fingerprint;
    envelope.exclusions = digest_.of(window.rules, window.judged, key);
    if (window.skip) return envelope;
    envelope.packets = window.packets;
    envelope.links = window.links;
    envelope.first_ns = window.first_ns;
    envelope.last_ns = window.last_ns;
    envelope.raw_order = window.index_order == IndexOrder::raw;
    envelope.matrix = {window.blob, window.bytes};
    return envelope;
  }

  void say_too_long() {
    if (std::exchange(said_too_long_, true)) return;
    around_.report->say({Severity::warning,
                         {},
                         "a window is longer than `max_bytes` of the stage that publishes: it "
                         "and others like it are not sent",
                         "subscribers are told which; raise max_bytes"});
  }

  // A failure ends the stream, not the run: other sinks go on undisturbed.
  template <class Call>
  void guard(Call call) {
    if (failed_) return;
    try {
      call();
    } catch (const std::exception& error) {
      failed_ = true;
      around_.report->say(
          {Severity::error, {}, std::string("publishing has failed, and goes on no more: ") + error.what(), ""});
    }
  }

  const std::string sensor_;
  const uint64_t window_packets_;
  const int linger_ms_;
  StreamConfig config_;
  const Surroundings around_;
  StreamListener listener_;  // until there is a publisher
  std::optional<StreamPublisher> publisher_;
  ExclusionsDigest digest_;
  bool failed_ = false, said_too_long_ = false;
  StreamThread<SerializedMatrix> thread_;  // last: it uses all of the above
};

void Publish::Parameters::check(ParameterBinder& binder) const {
  const auto parsed = parse_stream_url(url);
  if (url.empty())
    return binder.refuse("url", "no URL to publish at", "give url = \"trama+tcp://127.0.0.1:7801/roof\"");
  if (!parsed) return binder.refuse("url", parsed.error().text, parsed.error().hint);
  if (parsed->way == StreamUrl::Way::file)
    return binder.refuse("url", "a folder of archives is what the stage `archive` writes",
                         "publish at trama+tcp:// or trama+ipc://");
  if (server_key_file.empty() != clients_file.empty())
    return binder.refuse(server_key_file.empty() ? "server_key_file" : "clients_file",
                         "server_key_file and clients_file go together",
                         "the one is this publisher's key, the other says who may subscribe");
  if (parsed->stays_on_machine() || insecure || !server_key_file.empty()) return;
  binder.refuse("url", "other machines can listen there, and neither keys nor encryption are asked for",
                "set server_key_file and clients_file (`trama key curve FILE` makes keys), listen at 127.0.0.1, or say "
                "insecure = true");
}

REGISTER_STAGE(Publish);

}  // namespace
}  // namespace trama
