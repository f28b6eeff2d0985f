// stamp: cuts the stream of pairs into windows of exactly window_packets pairs.
//
//   [graph]
//   window_packets = 131072
//   links = ["in_order -> stamp", "stamp -> anonymize -> build"]
//   [stages.stamp]
//   window_timeout = 60   # seconds; live: a window is closed so long after its first pair, full or not; 0: never
//
// AddressBatch -> Window. Serial, needs batches in order, and opens the domain of window numbers. A packet that is not
// counted belongs to the window being filled when it arrives, in packet order, also when the window ends inside a
// batch. Other rules (exclusions, key, a wish to see the window) close the window being filled at the batch where they
// take effect. What is left at the end goes on as a partial window; packets seen after the last pair go on in a skip
// without pairs, the tail.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/run_report.hpp"

namespace trama {
namespace {

class Stamp final : public Stage<AddressBatch, Window> {
 public:
  struct Parameters {
    double window_timeout = 0;
    void bind(ParameterBinder& binder) {
      binder.seconds("window_timeout", window_timeout, 0, 1e6,
                     "of live packets: close a window so long after its first one; 0: never");
    }
  };
  static constexpr StageInfo kInfo{.kind = "stamp",
                                   .summary = "cuts the pairs into windows of window_packets",
                                   .ordering = Ordering::needs,
                                   .numbering = Numbering::opens};

  static Expected<StageFactory> make(const Parameters& parameters, const SetupContext& context) {
    auto rules = context.services.get<RulesInForce>();
    const auto timeout_ns = static_cast<int64_t>(parameters.window_timeout * 1e9);
    auto report = context.services.get<RunReport>();
    return StageFactory([rules, report, timeout_ns](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<Stamp>(report, rules->judges(), replica.sizes.window_items, timeout_ns);
    });
  }
  Stamp(std::shared_ptr<RunReport> report, uint32_t judges, size_t window_items, int64_t timeout_ns)
      : report_(std::move(report)), judges_(judges), window_items_(window_items), timeout_ns_(timeout_ns) {}

  // Resumable: `packets_` and `pairs_` say how far the batch at hand has been taken.
  Step process(AddressBatch& in, Output<Window>& out) override {
    // By the clock of the source, which also tells when nothing comes: an empty batch is enough.
    if (packets_ == 0 && window_ && timeout_ns_ > 0 && in.received_ns - opened_ns_ >= timeout_ns_)
      close(ClosedBy::time, out);
    if (packets_ == 0 && in.rules.id() != rules_.id()) {
      if (window_) close(difference(rules_, in.rules), out);
      rules_ = in.rules;
    }
    if (packets_ == 0) judged_ = in.judges == judges_;
    if (!window_ && !open(out)) return Step::blocked;
    if (packets_ == 0 && window_->pairs + in.pairs < window_items_) {
      take_pairs(in, in.pairs);
      window_->tally += in.tally;
    } else {
      if (packets_ == 0) take_losses(in);
      if (!split(in, out)) return Step::blocked;
    }
    packets_ = pairs_ = 0;
    report_->judged(in.tally);
    out.release(&in);
    return Step::done;
  }

  Step drain(Output<Window>& out) override {
    if (!window_) return Step::done;
    if (window_->pairs > 0) {
      close(ClosedBy::end, out);
    } else if (window_->tally != Tally{}) {
      window_->skip = true;
      window_->closed_by = ClosedBy::end;
      window_->rules = rules_;
      window_->judged = judged_;
      out.push(std::exchange(window_, nullptr));
    }
    return Step::done;
  }

 private:
  bool open(Output<Window>& out) {
    window_ = out.begin();
    if (!window_) return false;
    window_->pairs = 0;
    window_->tally = {};
    return true;
  }

  // Nothing to close while the window has no pairs: what it has seen stays for the one that gets some.
  void close(ClosedBy reason, Output<Window>& out) {
    if (window_->pairs == 0) return;
    window_->closed_by = reason;
    window_->rules = rules_;
    window_->judged = judged_;
    window_->items = static_cast<uint32_t>(window_->pairs);
    ++(reason == ClosedBy::full ? window_->tally.full_windows : window_->tally.partial_windows);
    out.push(std::exchange(window_, nullptr));
  }

  void take_pairs(const AddressBatch& in, size_t count) {
    if (count == 0) return;
    if (window_->pairs == 0) opened_ns_ = in.received_ns;
    std::memcpy(window_->source + window_->pairs, in.source.data() + pairs_, count * sizeof(uint32_t));
    std::memcpy(window_->destination + window_->pairs, in.destination.data() + pairs_, count * sizeof(uint32_t));
    const int64_t* times = in.time_ns.data() + pairs_;
    const auto [first, last] = std::minmax_element(times, times + count);
    window_->first_ns = window_->pairs == 0 ? *first : std::min(window_->first_ns, *first);
    window_->last_ns = window_->pairs == 0 ? *last : std::max(window_->last_ns, *last);
    window_->pairs += count;
    pairs_ += count;
  }

  // Goes packet by packet, since a window ends inside this batch. False: no credit for the next window yet.
  bool split(const AddressBatch& in, Output<Window>& out) {
    while (packets_ < in.count) {
      if (!window_ && !open(out)) return false;
      const size_t room = window_items_ - window_->pairs;
      size_t counted = 0;
      while (packets_ < in.count && counted < room) {
        const Verdict verdict = in.verdicts[packets_++];
        ++window_->tally[verdict];
        counted += verdict == Verdict::counted;
      }
      take_pairs(in, counted);
      if (window_->pairs == window_items_) close(ClosedBy::full, out);
    }
    return true;
  }

  // What was lost before the batch could be seen has no place among its packets: it goes to the window being filled.
  void take_losses(const AddressBatch& in) {
    Tally losses = in.tally;
    losses.packets = {};
    window_->tally += losses;
  }

  std::shared_ptr<RunReport> report_;
  const uint32_t judges_;  // stages that judge by the rules
  const size_t window_items_;
  const int64_t timeout_ns_;
  Window* window_ = nullptr;  // being filled
  int64_t opened_ns_ = 0;     // when the batch with its first pair was received; CLOCK_MONOTONIC
  size_t packets_ = 0;        // of the batch at hand, already in a window
  size_t pairs_ = 0;
  RulesShare rules_;  // of the window being filled
  bool judged_ = false;
};

REGISTER_STAGE(Stamp);

}  // namespace
}  // namespace trama
