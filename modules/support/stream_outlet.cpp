#include "modules/support/stream_outlet.hpp"

#include "modules/support/archive_log.hpp"

namespace trama {
namespace {

class StreamOutlet final : public WindowOutlet {
 public:
  StreamOutlet(const StreamConfig& config, StreamListener listener)
      : url_(listener.url.text()), publisher_(config, std::move(listener)) {}
  bool publish(const Envelope& envelope) override { return publisher_.publish(envelope); }
  void pass(uint64_t seq) override { publisher_.pass(seq); }
  void serve(int wake_fd) override { publisher_.serve(wake_fd); }
  void finish(int linger_ms) override { publisher_.finish(linger_ms); }
  std::string url() const override { return url_; }
  OutletCounts counts() const override {
    const StreamTotals& totals = publisher_.totals();
    OutletCounts counts;
    counts.subscribers = publisher_.subscribers();
    counts.subscribed = totals.joined;
    counts.sent = totals.sent;
    counts.lost = totals.lost;
    counts.not_replayed = totals.not_replayed;
    counts.refused = totals.refused;
    counts.shut_out = publisher_.shut_out();
    return counts;
  }
  // What others lose is told to them, and is no failure of this run.
  std::optional<Diagnostic> account() const override {
    const OutletCounts all = counts();
    const uint64_t turned_away = all.refused + all.shut_out;
    if (all.subscribed + turned_away == 0) return std::nullopt;
    std::string text = url_ + ": " + std::to_string(all.subscribed) + " subscribed, and were sent " +
                       std::to_string(all.sent) + " windows in all; slow ones lost " + std::to_string(all.lost);
    if (all.not_replayed > 0)
      text += "; of older ones " + std::to_string(all.not_replayed) + " were not in the archives";
    if (turned_away > 0) text += "; " + std::to_string(turned_away) + " were turned away";
    const char* hint = all.shut_out > 0 ? "some had no key that fits, or aren't among those who may subscribe" : "";
    return Diagnostic{Severity::note, {}, std::move(text), hint};
  }

 private:
  const std::string url_;
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
