#include "modules/support/stream_outlet.hpp"

#include "modules/support/archive_log.hpp"

namespace trama {
namespace {

class StreamOutlet final : public WindowOutlet {
 public:
  StreamOutlet(const StreamConfig& config, StreamListener listener) : publisher_(config, std::move(listener)) {}
  bool publish(const Envelope& envelope) override { return publisher_.publish(envelope); }
  void pass(uint64_t seq) override { publisher_.pass(seq); }
  void serve(int wake_fd) override { publisher_.serve(wake_fd); }
  void finish(int linger_ms) override { publisher_.finish(linger_ms); }
  std::optional<Diagnostic> account() const override {
    const StreamTotals& totals = publisher_.totals();
    if (totals.joined == 0) return std::nullopt;
    return Diagnostic{Severity::note,
                      {},
                      std::to_string(totals.joined) + " subscribed, and were sent " + std::to_string(totals.sent) +
                          " windows in all; slow ones lost " + std::to_string(totals.lost),
                      ""};
  }

 private:
  StreamPublisher publisher_;
};

}  // namespace

Expected<MakeOutlet> open_stream_outlet(const StreamConfig& config, const StreamUrl& url) {
  auto listener = StreamListener::open(url);
  if (!listener) return tl::unexpected(std::move(listener.error()));
  const auto shared = std::make_shared<StreamListener>(std::move(*listener));
  return MakeOutlet([config, shared](const SayDiagnostic& say) -> std::unique_ptr<WindowOutlet> {
    const std::string at = shared->url.text();
    auto outlet = std::make_unique<StreamOutlet>(config, std::move(*shared));
    if (config.archives && !config.archives->has_writer())
      say({Severity::warning,
           {},
           "`replay` is on, but no stage of this graph writes archives",
           "add the stage `archive`, or windows that have left the queue are lost"});
    say({Severity::note, {}, "publishing at " + at, ""});
    return outlet;
  });
}

}  // namespace trama
