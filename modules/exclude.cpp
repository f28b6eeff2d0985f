// exclude: keeps packets from or to privacy ranges out of every matrix.
//
//   links = ["parse -> exclude -> in_order"]
//   [stages.exclude]
//   ranges = ["10.0.0.0/8", "192.0.2.0/24:source"]   # :either (the standard), :both, :source or :destination
//   files = ["privacy.txt"]                          # one range a line, # comments
//
// AddressBatch -> AddressBatch, changed in place. Judges addresses before they are anonymized. Each batch is judged by
// the list that was in force when it entered, so that a list changed while running holds from one batch on.
#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/exclusion_input.hpp"

namespace trama {
namespace {

class Exclude final : public Stage<AddressBatch, AddressBatch> {
 public:
  struct Parameters {
    std::vector<std::string> ranges, files;
    Place ranges_place;
    void bind(ParameterBinder& binder) {
      binder.texts("ranges", ranges, "ranges to keep out, as CIDR[:either|both|source|destination]");
      binder.texts("files", files, "files of such ranges, one a line; read again on SIGUSR2");
      if (!binder.reading()) return;
      ranges_place = binder.place_of("ranges");
      for (const Diagnostic& wrong : check_ranges(ranges, ranges_place))
        binder.refuse("ranges", wrong.text, wrong.hint);
    }
  };
  static constexpr StageInfo kInfo{.kind = "exclude",
                                   .summary = "keeps privacy ranges out of every matrix",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves,
                                   .changes_input = true};

  static tl::expected<StageFactory, Diagnostics> make(const Parameters& parameters, const SetupContext& context) {
    auto rules = context.services.get<RulesInForce>();
    auto input = context.services.get<ExclusionInput>();
    // One list is in force at a time, for the whole graph.
    if (input->is_set())
      return tl::unexpected(Diagnostics{
          {Severity::error, context.place, "a second stage that excludes", "put all ranges into one of them"}});
    rules->add_judge();
    input->set({parameters.ranges, parameters.ranges_place, parameters.files});
    if (!parameters.ranges.empty() || !parameters.files.empty()) {
      auto ranges = input->read();
      if (!ranges) return tl::unexpected(std::move(ranges.error()));
      if (auto published = rules->set_ranges(*ranges); !published)
        return tl::unexpected(Diagnostics{published.error()});
    }
    return StageFactory([](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<Exclude>(replica.sizes.batch_items);
    });
  }
  explicit Exclude(size_t batch_items) : excluded_(batch_items) {}

  Step process(AddressBatch& in, Output<AddressBatch>& out) override {
    const PrivacyRanges& ranges = *in.rules->ranges;
    ++in.judges;
    if (!ranges.empty() && in.pairs > 0 &&
        ranges.mark(in.source.data(), in.destination.data(), in.pairs, excluded_.data()) > 0)
      take_out(in);
    out.push(&in);
    return Step::done;
  }

 private:
  // Closes the gaps in the arrays, and turns the verdicts of the excluded packets, which stand between others'.
  void take_out(AddressBatch& batch) {
    size_t kept = 0, pair = 0;
    for (size_t packet = 0; packet < batch.count; ++packet) {
      if (batch.verdicts[packet] != Verdict::counted) continue;
      const bool out = excluded_[pair] != 0;
      if (out) batch.verdicts[packet] = Verdict::excluded_range;
      batch.source[kept] = batch.source[pair];
      batch.destination[kept] = batch.destination[pair];
      batch.time_ns[kept] = batch.time_ns[pair];
      kept += !out;
      ++pair;
    }
    batch.tally[Verdict::counted] -= pair - kept;
    batch.tally[Verdict::excluded_range] += pair - kept;
    batch.pairs = kept;
  }

  std::vector<uint8_t> excluded_;
};

REGISTER_STAGE(Exclude);

}  // namespace
}  // namespace trama
