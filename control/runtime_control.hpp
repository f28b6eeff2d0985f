// RunControl of a graph that this process runs.
#pragma once
#include <atomic>
#include <memory>

#include "control/exclusion_control.hpp"
#include "control/run_control.hpp"
#include "engine/runtime.hpp"
#include "modules/support/anonymization_key.hpp"

namespace trama {

class RuntimeControl final : public RunControl {
 public:
  RuntimeControl(Runtime& runtime, Services& services, ExclusionInput::Config configured)
      : runtime_(runtime),
        exclusions_(services, std::move(configured)),
        keys_(services.get<KeyRotation>()),
        rules_(services.get<RulesInForce>()) {}

  Outcome<ExclusionChange> exclude_add(const std::string& range) override { return exclusions_.add(range); }
  Outcome<ExclusionChange> exclude_remove(const std::string& range) override { return exclusions_.remove(range); }
  Outcome<ExclusionOrigin> exclude_list() const override { return exclusions_.list(); }
  Outcome<ExclusionChange> reload() override { return exclusions_.reload(); }
  Expected<std::string> rotate_key(const KeyChoice& choice) override;
  Expected<void> flush() override;
  void forget_former_rules() override { rules_->forget_former(); }
  void stop() override {
    stopping_.store(true, std::memory_order_relaxed);
    runtime_.stop_sources();
  }
  bool stopping() const override { return stopping_.load(std::memory_order_relaxed); }

 private:
  Runtime& runtime_;
  ExclusionControl exclusions_;
  const std::shared_ptr<KeyRotation> keys_;
  const std::shared_ptr<RulesInForce> rules_;
  std::atomic<bool> stopping_{false};
};

}  // namespace trama
