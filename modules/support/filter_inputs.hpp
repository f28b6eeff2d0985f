// Filter modules that judge by lists from files, for reading those again while running.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/diagnostic.hpp"
#include "modules/support/privacy_ranges.hpp"
#include "modules/support/rules.hpp"

namespace trama {

// Thread-safe. Stages that run modules add themselves at setup.
class FilterInputs {
 public:
  using Read = tl::expected<std::shared_ptr<const ModuleRules>, Diagnostics>;

  // `module`: its place in Rules::modules. `read` makes its rules anew, from its files as they are now.
  void add(size_t module, std::function<Read(Reading)> read) {
    const std::lock_guard lock(mutex_);
    inputs_.emplace_back(module, std::move(read));
  }
  bool empty() const {
    const std::lock_guard lock(mutex_);
    return inputs_.empty();
  }

  // Modules that are others than those in force, by their place.
  using Changes = std::vector<std::pair<size_t, std::shared_ptr<const ModuleRules>>>;

  // Reads all files; or says everything that is wrong in any of them.
  tl::expected<Changes, Diagnostics> read_again(const Rules& in_force) const {
    const std::lock_guard lock(mutex_);
    Changes all;
    Diagnostics wrong;
    for (const auto& [module, read] : inputs_) {
      auto rules = read(Reading::again);
      if (!rules)
        wrong.insert(wrong.end(), rules.error().begin(), rules.error().end());
      else if ((*rules)->canonical != in_force.modules[module]->canonical)
        all.emplace_back(module, std::move(*rules));
    }
    if (!wrong.empty()) return tl::unexpected(std::move(wrong));
    return all;
  }

  // Puts changes in force, with `also`, an edit of the rules: all of it, or nothing.
  static tl::expected<bool, Diagnostics> put_in_force(const Changes& changes, RulesInForce& rules,
                                                      const std::function<void(Rules&)>& also = {}) {
    const RulesShare before = rules.current();
    Diagnostics wrong;
    size_t told = 0;
    while (told < changes.size() && wrong.empty()) wrong = changes[told++].second->tell_others();
    if (wrong.empty()) {
      auto published = rules.change([&](Rules& edited) {
        for (const auto& [module, other] : changes) edited.modules[module] = other;
        if (also) also(edited);
      });
      if (published) return *published;
      wrong.push_back(std::move(published.error()));
    }
    // Those that were told hear of the former rules again.
    for (size_t i = 0; i < told; ++i) {
      Diagnostics more = before->modules[changes[i].first]->tell_others();
      wrong.insert(wrong.end(), more.begin(), more.end());
    }
    return tl::unexpected(std::move(wrong));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<size_t, std::function<Read(Reading)>>> inputs_;
};

}  // namespace trama
