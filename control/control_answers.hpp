// From a line of the control socket to the line that answers it.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "control/control_protocol.hpp"
#include "control/engine_state.hpp"
#include "control/run_control.hpp"
#include "modules/support/run_report.hpp"
#include "modules/support/window_log.hpp"

namespace trama {

// Says on stderr, through the report, what was changed; no address and no key is in what it says.
class ControlAnswers {
 public:
  // All of them must live as long.
  ControlAnswers(RunControl& control, const EngineState& state, const WindowLog& windows, RunReport& report)
      : control_(control), state_(state), windows_(windows), report_(report) {}

  // One thread.
  std::string answer(std::string_view line);

 private:
  using Result = Expected<nlohmann::ordered_json>;
  Result carry_out(const ControlRequest& request);
  Result exclusions(const ControlRequest& request);
  Result list_exclusions() const;
  Result rotate_key(const ControlRequest& request);
  Result flush();
  Result stop();
  void note(std::string text) { report_.say({Severity::note, {"control socket", 0}, std::move(text), ""}); }

  RunControl& control_;
  const EngineState& state_;
  const WindowLog& windows_;
  RunReport& report_;
};

}  // namespace trama
