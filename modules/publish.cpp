// publish: sends finished windows to whoever subscribes, as they come.
//
//   links = ["by_number -> archive, publish"]
//   [stages.publish]
//   url = "trama+tcp://127.0.0.1:7801/roof"
//   queue = 16                     # windows kept for subscribers that are slow, or come late
//   replay = true                  # and older ones from the archives that this run writes
//   server_key_file = "roof.curve" # for other machines: with keys, or insecure = true
//   clients_file = "clients.txt"
//
// or, over a NATS server that stores them:
//
//   url = "nats://127.0.0.1:4222/trama.roof"
//   queue = 64                     # windows that wait while the server is away
//
// A sink of SerializedMatrix, in order, blobs and compact matrices alike. It holds nobody up: windows that come while
// its slots are taken pass it by, a subscriber that is slow loses windows of its own, and all of them are told which.
// Sending is done by a thread behind the stage. docs/streams.md
#include <poll.h>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/archive_log.hpp"
#include "modules/support/nats_publisher.hpp"
#include "modules/support/run_identity.hpp"
#include "modules/support/run_report.hpp"
#include "modules/support/run_start.hpp"
#include "modules/support/stream_keys.hpp"
#include "modules/support/stream_outlet.hpp"
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
  std::string name;  // of the stage
  std::shared_ptr<RunIdentity> identity;
  std::shared_ptr<RunReport> report;
  std::shared_ptr<RunStart> start;
};

class Publish final : public Stage<SerializedMatrix, Nothing> {
 public:
  struct Parameters {
    std::string url, sensor, server_key_file, clients_file;
    std::string mirror, credentials_file, login_file, ca_file, certificate_file, certificate_key_file;
    uint64_t queue = 16, subscribers = 64, max_bytes = 64u << 20, store_bytes = uint64_t{4} << 30;
    double linger = 2, store_age = 86400;
    bool insecure = false, replay = false;
    void bind(ParameterBinder& binder) {
      binder.text("url", url,
                  "where to listen: trama+tcp://HOST:PORT/STREAM or trama+ipc://PATH; or a NATS server, "
                  "nats://HOST:PORT/SUBJECT or nats+tls://");
      binder.text("sensor", sensor, "name of this observer, for the envelopes");
      binder.integer("queue", queue, 1, 4096, "windows kept for subscribers that are slow or come late");
      binder.integer("subscribers", subscribers, 1, 4096, "the most subscribers at a time");
      binder.integer("max_bytes", max_bytes, 1024, uint64_t{2} << 30, "longer envelopes are not sent");
      binder.seconds("linger", linger, 0, 3600, "at the end: the longest wait for subscribers to take what is left");
      binder.flag("replay", replay, "read windows that have left the queue from the archives that this run writes");
      binder.flag("insecure", insecure, "let other machines listen without keys and encryption");
      binder.text("server_key_file", server_key_file, "secret key of this publisher; subscribers then need keys, too");
      binder.text("clients_file", clients_file, "public keys of those who may subscribe, one a line");
      binder.integer("store_bytes", store_bytes, 1u << 20, uint64_t{1} << 60, "of NATS: older windows go beyond them");
      binder.seconds("store_age", store_age, 1, 1e9, "of NATS: older windows go");
      binder.text("mirror", mirror, "of NATS: a JetStream domain that keeps a copy, as a hub does of a leaf node");
      binder.text("credentials_file", credentials_file, "of NATS: as its tools make them");
      binder.text("login_file", login_file, "of NATS: USER:PASSWORD, or a token");
      binder.text("ca_file", ca_file, "of nats+tls: certificates of the authorities that the server's must be of");
      binder.text("certificate_file", certificate_file, "of nats+tls: of this publisher");
      binder.text("certificate_key_file", certificate_key_file, "of nats+tls: its key");
      if (binder.reading()) check(binder);
    }

    Expected<MakeOutlet> open_nats(const StreamUrl& way) const;
    Expected<MakeOutlet> open_stream(const StreamUrl& way, const SetupContext& context) const;

   private:
    void check(ParameterBinder& binder) const;
    void check_way(const StreamUrl& way, ParameterBinder& binder) const;
  };
  static constexpr StageInfo kInfo{.kind = "publish",
                                   .summary = "sends finished windows to subscribers",
                                   .ordering = Ordering::needs,
                                   .may_lose = 8};

  static Expected<StageFactory> make(const Parameters& parameters, const SetupContext& context) {
    // Opened here, with the privileges that a port or a key file may need; what is in the way is said before the first
    // packet.
    const StreamUrl way = parse_stream_url(parameters.url).value();
    auto opened = way.way == StreamUrl::Way::nats ? parameters.open_nats(way) : parameters.open_stream(way, context);
    if (!opened) return tl::unexpected(std::move(opened.error()));
    auto& with = context.services;
    const Surroundings around{context.name, with.get<RunIdentity>(), with.get<RunReport>(), with.get<RunStart>()};
    return StageFactory(
        [parameters, around, outlet = std::move(*opened)](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
          return std::make_unique<Publish>(parameters, outlet, around, replica);
        });
  }
  Publish(const Parameters& parameters, MakeOutlet make_outlet, Surroundings around, const ReplicaContext& context)
      : sensor_(parameters.sensor),
        window_packets_(context.sizes.window_items),
        linger_ms_(static_cast<int>(parameters.linger * 1e3)),
        around_(std::move(around)),
        make_outlet_(std::move(make_outlet)),
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
        if (!outlet().publish(envelope_of(window))) count_too_long();
      } else {
        outlet().pass(window.seq);
      }
    });
    output.release(&window);
  }
  void serve(int wake_fd) {
    if (around_.start->begun()) guard([&] { outlet().serve(wake_fd), tell_counts(); });
    pollfd event{wake_fd, POLLIN, 0};
    if (failed_) poll(&event, 1, -1);
    if (!around_.start->begun()) poll(&event, 1, kLookMs);
  }
  void finish() {
    if (!outlet_) return;  // the run never began
    guard([&] { outlet_->finish(linger_ms_), tell_counts(); });
    if (failed_) return;
    if (auto account = outlet_->account()) around_.report->say(std::move(*account));
  }

  void tell_counts() {
    OutletCounts counts = outlet_->counts();
    counts.too_long = too_long_;
    around_.report->outlet_counts(number_, counts);
  }

  WindowOutlet& outlet() {
    if (outlet_) return *outlet_;
    outlet_ =
        std::exchange(make_outlet_, {})([report = around_.report](Diagnostic said) { report->say(std::move(said)); });
    number_ = around_.report->outlet_opened({around_.name, outlet_->url(), {}});
    return *outlet_;
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

  void count_too_long() {
    if (too_long_++ > 0) return;
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
  const Surroundings around_;
  MakeOutlet make_outlet_;  // until there is an outlet
  std::unique_ptr<WindowOutlet> outlet_;
  size_t number_ = 0;  // of the outlet, in the report
  ExclusionsDigest digest_;
  uint64_t too_long_ = 0;
  bool failed_ = false;
  StreamThread<SerializedMatrix> thread_;  // last: it uses all of the above
};

Expected<MakeOutlet> Publish::Parameters::open_stream(const StreamUrl& way, const SetupContext& context) const {
  StreamConfig config;
  config.queue = queue;
  config.subscribers = subscribers;
  config.max_bytes = max_bytes;
  config.sensor = sensor;
  if (replay) {
    const auto archives = context.services.get<ArchiveLog>();
    if (!archives->add_reader()) return failure(ArchiveLog::kUnfit, ArchiveLog::kUnfitHint, context.place);
    config.archives = archives;
  }
  if (!server_key_file.empty()) {
    auto keys = load_stream_keys(server_key_file, clients_file);
    if (!keys) return tl::unexpected(std::move(keys.error()));
    config.keys = std::move(*keys);
  }
  raise_descriptor_limit();  // subscribers should leave some for archives
  return open_stream_outlet(config, way);
}

Expected<MakeOutlet> Publish::Parameters::open_nats(const StreamUrl& way) const {
  NatsConfig config;
  config.url = way;
  config.queue = queue;
  config.max_bytes = max_bytes;
  config.store = {store_bytes, static_cast<int64_t>(store_age * 1e9), mirror};
  auto access = NatsAccess::load(ca_file, certificate_file, certificate_key_file, credentials_file, login_file);
  if (!access) return failure(std::move(access.error().text), std::move(access.error().hint));
  config.access = std::move(*access);
  return open_nats_outlet(config);
}

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
                         "server_key_file and clients_file go together", "this publisher's key, and who may subscribe");
  check_way(*parsed, binder);
}

// What belongs to the one kind of URL and not to the other, and what others could listen to.
void Publish::Parameters::check_way(const StreamUrl& way, ParameterBinder& binder) const {
  const bool nats = way.way == StreamUrl::Way::nats;
  const std::pair<const char*, bool> of_nats[] = {{"mirror", !mirror.empty()},
                                                  {"credentials_file", !credentials_file.empty()},
                                                  {"login_file", !login_file.empty()},
                                                  {"ca_file", !ca_file.empty()},
                                                  {"certificate_file", !certificate_file.empty()},
                                                  {"certificate_key_file", !certificate_key_file.empty()}};
  const std::pair<const char*, bool> of_others[] = {{"server_key_file", !server_key_file.empty()}, {"replay", replay}};
  for (const auto& [name, given] : of_nats)
    if (given && !nats)
      return binder.refuse(name, std::string(name) + " belongs to nats:// and nats+tls://", "leave it out");
  for (const auto& [name, given] : of_others)
    if (given && nats)
      return binder.refuse(name,
                           std::string(name) + " is not for a NATS server, which lets people in and stores by itself",
                           "leave it out");
  if (way.stays_on_machine() || insecure || way.encrypted || !server_key_file.empty()) return;
  if (nats)
    return binder.refuse(
        "url", "the way to that NATS server is not encrypted",
        "use nats+tls://, or a leaf node on this machine (control/nats/leaf.conf), or say insecure = true");
  binder.refuse("url", "other machines can listen there, and neither keys nor encryption are asked for",
                "set server_key_file and clients_file (`trama key curve FILE` makes keys), listen at 127.0.0.1, or say "
                "insecure = true");
}

REGISTER_STAGE(Publish);

}  // namespace
}  // namespace trama
