// anonymize: replaces every address by its Crypto-PAn image under a key.
//
//   [stages.anonymize]
//   key_file = "site.key"     # made by `trama key new`; the same key gives the same addresses
//   replicas = 2
//
// Window -> AnonymizedWindow. Replicas share the tables of one key. Without key_file and without clear = true, a key is
// made for this run, used and forgotten. Prefixes are preserved: addresses that share n bits share n bits afterwards.
//
// Where pairs repeat much, a window is sorted and summed first, and only its sources and links are anonymized, each
// once; `build` puts them back into order. The matrix is the same either way.
#include <cstring>
#include <optional>

#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/key_file.hpp"
#include "modules/support/run_report.hpp"
#include "modules/support/window_anonymizer.hpp"

namespace trama {
namespace {

class Anonymize final : public Stage<Window, AnonymizedWindow> {
 public:
  struct Parameters {
    std::string key_file;
    bool ephemeral = false, clear = false;
    void bind(ParameterBinder& binder) {
      binder.text("key_file", key_file, "file with the key; only its owner may read it");
      binder.flag("ephemeral", ephemeral, "make a key, use it for this run, forget it (so too when nothing is said)");
      binder.flag("clear", clear, "write original addresses");
      if ((!key_file.empty()) + ephemeral + clear > 1)
        binder.refuse(clear ? "clear" : "ephemeral", "key_file, ephemeral and clear exclude each other",
                      "keep one of them");
    }
  };
  static constexpr StageInfo kInfo{.kind = "anonymize",
                                   .summary = "replaces addresses by their Crypto-PAn images",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};

  static Expected<StageFactory> make(const Parameters& parameters, const SetupContext& context) {
    const auto report = context.services.get<RunReport>();
    const auto rules = context.services.get<RulesInForce>();
    // One key is in force at a time, for the whole graph.
    if (rules->current()->key)
      return tl::unexpected(
          Diagnostic{Severity::error, context.place,
                     "a second stage that anonymizes: its key would take the place of the first one's",
                     "let the graph fan out behind one of them"});
    if (parameters.clear) {
      report->say({Severity::warning, {}, "original addresses are written, as asked for", ""});
      return factory(*rules, std::make_shared<const AnonymizationKey>(AnonymizationKey{{"none", "", {}}, nullptr}));
    }

    const bool ephemeral = parameters.key_file.empty();
    auto key = ephemeral ? Key::random() : Key::load(parameters.key_file);
    if (!key) return tl::unexpected(std::move(key.error()));
    if (ephemeral)
      report->say({Severity::note,
                   {},
                   "addresses are anonymized under a key made for this run and then forgotten (fingerprint " +
                       key->fingerprint() + ")",
                   "give --key FILE where results must match those of other runs"});
    context.services.get<KeyRotation>()->allow(rules);
    return factory(*rules, make_anonymization_key(std::move(*key)));
  }
  Anonymize(bool clear, const ReplicaContext& context) {
    if (!clear) anonymizer_.emplace(context.sizes.window_items);
  }

  Step process(Window& in, Output<AnonymizedWindow>& out) override {
    AnonymizedWindow& anonymized = *out.follow(in);
    anonymized.take_over(in);
    anonymized.key = in.rules->key;
    anonymized.pairs = in.pairs;
    if (anonymizer_) {
      anonymized.is_summed = anonymizer_->anonymize(*anonymized.key->crypto_pan, in.source, in.destination, in.pairs,
                                                    anonymized.source, anonymized.destination, anonymized.summed);
    } else {
      anonymized.is_summed = false;
      std::memcpy(anonymized.source, in.source, in.pairs * sizeof(uint32_t));
      std::memcpy(anonymized.destination, in.destination, in.pairs * sizeof(uint32_t));
    }
    out.release(&in);
    out.push(&anonymized);
    return Step::done;
  }

 private:
  // The key is in the rules alone, so that it is gone when others are in force.
  static Expected<StageFactory> factory(RulesInForce& rules, std::shared_ptr<const AnonymizationKey> key) {
    const bool clear = key->crypto_pan == nullptr;
    if (auto changed = rules.change([&](Rules& all) { all.key = std::move(key); }); !changed)
      return tl::unexpected(std::move(changed.error()));
    return StageFactory([clear](const ReplicaContext& context) -> std::unique_ptr<StageBase> {
      return std::make_unique<Anonymize>(clear, context);
    });
  }

  std::optional<WindowAnonymizer> anonymizer_;  // none: addresses in clear, as asked for
};

REGISTER_STAGE(Anonymize);

}  // namespace
}  // namespace trama
