#include "modules/support/rules.hpp"

#include <algorithm>
#include <limits>

namespace trama {

std::string Rules::canonical() const {
  std::string text = ranges->canonical();
  for (size_t i = 0; i < modules.size(); ++i)
    if (!modules[i]->canonical.empty()) text += "module " + std::to_string(i) + "\n" + modules[i]->canonical;
  return text;
}

std::string Rules::digest(const KeyIdentity& identity) const {
  const std::string text = canonical();
  if (text.empty()) return "none";
  return identity.hmac ? identity.hmac(text).substr(0, 16) : "unkeyed";
}

ClosedBy difference(const RulesShare& earlier, const RulesShare& later) noexcept {
  if (!earlier || !later) return ClosedBy::exclusions;
  if (earlier->ranges != later->ranges || earlier->modules != later->modules) return ClosedBy::exclusions;
  return earlier->key != later->key ? ClosedBy::key : ClosedBy::flush;
}

RulesInForce::RulesInForce() : current_(&places_[0]) {
  places_[0].rules = std::make_shared<const Rules>();
  places_[0].id = id_;
}

void RulesInForce::add_judge() { judges_.fetch_add(1, std::memory_order_relaxed); }

size_t RulesInForce::add_module(std::shared_ptr<const ModuleRules> rules) {
  add_judge();
  size_t place = 0;
  // Nobody has a share yet, so that there is a place for other rules.
  (void)change([&](Rules& all) {
    place = all.modules.size();
    all.modules.push_back(std::move(rules));
  });
  return place;
}

// Takes the share first and then looks whether these rules are still in force; free_unneeded() goes the other way
// round, with rules that are not in force any more. Sequentially consistent, so that one of them sees what the other
// has done. A share in a place that was freed meanwhile is given back before anybody looks at its rules.
RulesShare RulesInForce::current() const noexcept {
  for (;;) {
    KeptRules* const kept = current_.load();
    kept->shares.fetch_add(1);
    if (current_.load() == kept) return RulesShare(*kept);
    kept->shares.fetch_sub(1);
  }
}

void RulesInForce::free_unneeded() {
  const KeptRules* const in_force = current_.load();
  for (KeptRules& kept : places_) {
    if (!kept.rules || &kept == in_force || kept.shares.load() != 0) continue;
    kept.rules.reset();
    kept.canonical.clear();
  }
}

void RulesInForce::forget_former() {
  const std::lock_guard lock(mutex_);
  free_unneeded();
}

Expected<bool> RulesInForce::set_ranges(std::shared_ptr<const PrivacyRanges> ranges) {
  return change([&](Rules& rules) { rules.ranges = std::move(ranges); });
}

Expected<bool> RulesInForce::flush() {
  return change([](Rules& rules) { ++rules.flushes; });
}

Expected<bool> RulesInForce::change(const std::function<void(Rules&)>& edit) {
  const std::lock_guard lock(mutex_);
  const KeptRules& before = *current_.load();
  auto rules = std::make_shared<Rules>(*before.rules);
  edit(*rules);
  std::string canonical = rules->canonical();
  if (canonical == before.canonical && rules->key == before.rules->key && rules->flushes == before.rules->flushes &&
      rules->modules.size() == before.rules->modules.size())
    return false;
  if (id_ == std::numeric_limits<uint32_t>::max()) return failure("the rules have changed too often", "start anew");
  free_unneeded();
  // A share may be on its way to a place that was freed just now: it comes to nothing, but must not be counted into
  // rules that others could then not free.
  const auto free = std::find_if(places_.begin(), places_.end(),
                                 [](const KeptRules& kept) { return !kept.rules && kept.shares.load() == 0; });
  if (free == places_.end())
    return failure("the rules can't be changed: too many earlier ones are still in use",
                   "wait for the next window to be written; where no windows are written, start anew");
  free->id = id_ + 1;
  free->canonical = std::move(canonical);
  free->rules = std::move(rules);
  current_.store(&*free);
  id_.store(free->id, std::memory_order_release);
  free_unneeded();
  return true;
}

uint32_t RulesInForce::kept() const {
  const std::lock_guard lock(mutex_);
  const auto is_kept = [](const KeptRules& kept) { return kept.rules != nullptr; };
  return static_cast<uint32_t>(std::count_if(places_.begin(), places_.end(), is_kept));
}

}  // namespace trama
