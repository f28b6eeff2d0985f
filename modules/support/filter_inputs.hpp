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

  // An edit for RulesInForce::change() that puts all of it in force; or everything that is wrong in any of the files,
  // or what refused it.
  tl::expected<std::function<void(Rules&)>, Diagnostics> read_again(const Rules& in_force) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<size_t, std::shared_ptr<const ModuleRules>>> all;
    Diagnostics wrong;
    for (const auto& [module, read] : inputs_) {
      auto rules = read(Reading::again);
      if (!rules)
        wrong.insert(wrong.end(), rules.error().begin(), rules.error().end());
      else if ((*rules)->canonical != in_force.modules[module]->canonical)
        all.emplace_back(module, std::move(*rules));
    }
    for (auto other = all.begin(); wrong.empty() && other != all.end(); ++other) wrong = other->second->tell_others();
    if (!wrong.empty()) return tl::unexpected(std::move(wrong));
    return [all = std::move(all)](Rules& rules) {
      for (const auto& [module, other] : all) rules.modules[module] = other;
    };
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<size_t, std::function<Read(Reading)>>> inputs_;
};

}  // namespace trama
