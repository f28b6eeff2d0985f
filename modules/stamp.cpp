// stamp: cuts the stream of pairs into windows of exactly window_packets pairs.
//
//   [graph]
//   window_packets = 131072
//   links = ["in_order -> stamp", "stamp -> anonymize -> build"]
//
// AddressBatch -> Window. Serial, needs batches in order, and opens the domain of window numbers. A packet that is not
// counted belongs to the window being filled when it arrives, in packet order, also when the window ends inside a
// batch. A new exclusion list closes the window being filled at the batch where it takes effect. What is left at the
// end goes on as a partial window; packets seen after the last pair go on in a skip without pairs, the tail.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/provenance.hpp"

namespace trama {
namespace {

class Stamp final : public Stage<AddressBatch, Window> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "stamp",
                                   .summary = "cuts the pairs into windows of window_packets",
                                   .ordering = Ordering::needs,
                                   .numbering = Numbering::opens};

  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto lists = context.services.get<ExclusionLists>();
    const ExclusionLists::Reader reader = lists->add_reader();
    return StageFactory([lists, reader](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<Stamp>(lists, reader, replica.sizes.window_items);
    });
  }
  Stamp(std::shared_ptr<ExclusionLists> lists, ExclusionLists::Reader reader, size_t window_items)
      : lists_(std::move(lists)), reader_(reader), window_items_(window_items) {}

  // Resumable: `packets_` and `pairs_` say how far the batch at hand has been taken.
  Step process(AddressBatch& in, Output<Window>& out) override {
    if (packets_ == 0 && in.exclusions != exclusions_) {
      if (window_) close(ClosedBy::exclusions, out);
      exclusions_ = in.exclusions;
    }
    if (!window_ && !open(out)) return Step::blocked;
    if (packets_ == 0 && window_->pairs + in.pairs < window_items_) {
      take_pairs(in, in.pairs);
      window_->tally += in.tally;
    } else {
      if (packets_ == 0) take_losses(in);
      if (!split(in, out)) return Step::blocked;
    }
    packets_ = pairs_ = 0;
    reader_.passed(exclusions_);
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
      window_->exclusions = exclusions_;
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
    window_->exclusions = exclusions_;
    window_->items = static_cast<uint32_t>(window_->pairs);
    ++(reason == ClosedBy::full ? window_->tally.full_windows : window_->tally.partial_windows);
    out.push(std::exchange(window_, nullptr));
  }

  void take_pairs(const AddressBatch& in, size_t count) {
    if (count == 0) return;
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

  std::shared_ptr<ExclusionLists> lists_;  // the reader points into them
  ExclusionLists::Reader reader_;
  const size_t window_items_;
  Window* window_ = nullptr;  // being filled
  size_t packets_ = 0;        // of the batch at hand, already in a window
  size_t pairs_ = 0;
  uint32_t exclusions_ = 0;
};

REGISTER_STAGE(Stamp);

}  // namespace
}  // namespace trama
