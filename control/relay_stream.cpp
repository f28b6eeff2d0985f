#include "control/relay_stream.hpp"

#include <algorithm>

namespace trama {

Envelope envelope_of(const WindowInfo& info, std::span<const uint8_t> matrix) {
  Envelope envelope;
  envelope.run = info.run;
  envelope.seq = info.seq;
  envelope.window_packets = info.window_packets;
  envelope.packets = info.packets;
  envelope.links = info.links;
  envelope.first_ns = info.first_ns;
  envelope.last_ns = info.last_ns;
  envelope.closed_by = info.closed_by;
  envelope.encoding = info.encoding;
  envelope.raw_order = info.raw_order;
  envelope.verdicts = info.verdicts;
  envelope.dropped = info.dropped;
  envelope.removed_in_kernel = info.removed_in_kernel;
  envelope.sensor = info.sensor;
  envelope.stream = info.stream;
  envelope.graph = info.graph;
  envelope.anonymization = info.anonymization;
  envelope.key = info.key;
  envelope.exclusions = info.exclusions;
  envelope.matrix = matrix;
  return envelope;
}

bool RelayStream::is_of_another_run(const StreamWindow& window) const {
  return run_ == 0 || (window.info().run == 0 ? window.restarted : window.info().run != run_);
}

void RelayStream::window(const StreamWindow& window) {
  const WindowInfo& info = window.info();
  if (is_of_another_run(window)) {
    // The numbers before its own are those of its run; what else was missed is the end of the run before.
    if (run_ != 0) close_run(window.missed - std::min(window.missed, info.seq));
    run_ = info.run == 0 ? new_stream_run() : info.run;
  }
  pass_on(envelope_of(info, window.serialized()));
  expected_ = info.seq + 1;
  told_ = 0;
  last_ = info;
}

void RelayStream::tail(WindowInfo info) {
  if (info.run == 0) {
    if (kept_tail_) info.verdicts += kept_tail_->verdicts;
    kept_tail_ = std::move(info);
    return;
  }
  if (info.run != run_) {  // a run without windows, or whose first are still to come
    if (run_ != 0) close_run(0);
    run_ = info.run;
    expected_ = info.seq;
  }
  pass_on(envelope_of(info, {}));
  if (info.seq < expected_) return;
  told_ += info.seq - expected_;
  expected_ = info.seq + 1;
}

void RelayStream::end(uint64_t missed) {
  if (run_ != 0) close_run(missed);
}

void RelayStream::pass_on(Envelope envelope) {
  envelope.run = run_;
  unsent_ += !publisher_.pass_on(envelope);
}

void RelayStream::close_run(uint64_t missed) {
  publisher_.pass_below(expected_ + missed - std::min(missed, told_));
  const auto tail = std::exchange(kept_tail_, std::nullopt);
  if (!tail || tail->verdicts.seen() == 0) return;
  Envelope envelope = envelope_of(last_, {});
  envelope.encoding = EnvelopeEncoding::tail;
  envelope.seq = publisher_.next();
  envelope.packets = envelope.links = 0;
  envelope.first_ns = envelope.last_ns = 0;
  envelope.dropped = {};
  envelope.removed_in_kernel = 0;
  envelope.verdicts = tail->verdicts;
  pass_on(envelope);
}

}  // namespace trama
