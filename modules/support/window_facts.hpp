// What manifests and envelopes say of a window.
#pragma once
#include <cstdint>
#include <string>

#include "libclient/formats/manifest.hpp"
#include "modules/support/rules.hpp"
#include "modules/support/tally.hpp"

namespace trama {

inline VerdictCounts verdict_counts(const Tally& tally) {
  return {tally[Verdict::counted], tally.excluded(),          tally[Verdict::filtered], tally[Verdict::ipv6],
          tally[Verdict::not_ip],  tally[Verdict::malformed], tally[Verdict::cut],      tally[Verdict::unknown_link]};
}

// The digest of the rules that a window was judged by; worked out anew only where they are others than those of the
// window before. Another key is another set of rules.
class ExclusionsDigest {
 public:
  // `judged`: the window's packets have met every stage that judges by them. Valid until the next call.
  const std::string& of(const RulesShare& rules, bool judged, const KeyIdentity& key) {
    const uint32_t id = judged ? rules.id() : 0;
    if (text_.empty() || id != id_) text_ = id == 0 ? Rules().digest(key) : rules->digest(key);
    id_ = id;
    return text_;
  }

 private:
  uint32_t id_ = 0;
  std::string text_;
};

}  // namespace trama
