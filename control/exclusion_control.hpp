// Changes of the exclusion list while a graph runs: by SIGUSR2 and through the control socket.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "control/run_control.hpp"
#include "engine/graph_spec.hpp"
#include "engine/services.hpp"
#include "modules/support/exclusion_input.hpp"
#include "modules/support/filter_inputs.hpp"
#include "modules/support/rules.hpp"

namespace trama {

// The ranges and files that the graph gives to the stage that excludes.
ExclusionInput::Config configured_exclusions(const GraphSpec& spec);

// Thread-safe; once made, the only one that changes ExclusionInput and what is excluded. Calls as in RunControl.
class ExclusionControl {
 public:
  // After the stages were made.
  ExclusionControl(Services& services, ExclusionInput::Config configured);

  RunControl::Outcome<ExclusionChange> add(const std::string& range);
  RunControl::Outcome<ExclusionChange> remove(const std::string& range);
  RunControl::Outcome<ExclusionChange> reload();
  RunControl::Outcome<ExclusionOrigin> list() const;

 private:
  RunControl::Outcome<ExclusionChange> put_in_force(ExclusionInput::Config wanted,
                                                    const FilterInputs::Changes& filters = {});

  mutable std::mutex mutex_;
  const std::shared_ptr<ExclusionInput> input_;
  const std::shared_ptr<FilterInputs> filters_;
  const std::shared_ptr<RulesInForce> rules_;
  ExclusionInput::Config config_;
};

}  // namespace trama
