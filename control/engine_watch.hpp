// Two looks at a running engine, and what lies between them: for `trama status` and `trama top`.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "control/control_client.hpp"
#include "control/engine_state.hpp"
#include "modules/support/window_log.hpp"

namespace trama {

class EngineWatch {
 public:
  explicit EngineWatch(ControlClient client) : client_(std::move(client)) {}

  // Looks; also at the windows. Connects anew where the engine has closed, as it does after a long silence.
  Expected<void> look();
  // The page, after a look; its rates are those since the look before. So many windows at most.
  std::string page(size_t most_windows) const;

 private:
  Expected<void> look_once();

  ControlClient client_;
  std::optional<EngineStatus> before_, now_;
  std::vector<FinishedWindow> windows_;
};

// The page of an engine, with the rates of half a second.
Expected<std::string> snapshot_page(ControlClient client);

}  // namespace trama
