// Status and windows as JSON, the way they go through the control socket.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "control/engine_state.hpp"
#include "modules/support/window_log.hpp"

namespace trama {

// The stages' replicas are summed.
nlohmann::ordered_json status_json(const EngineStatus& status);
// {"stages": [...]}, replica by replica.
nlohmann::ordered_json counters_json(const EngineStatus& status);
// {"windows": [...]}; null is what nobody knows.
nlohmann::ordered_json windows_json(const std::vector<FinishedWindow>& windows);

// The other way round, with the stages' sums as one replica. Unknown keys are passed over. Fails where a key is missing
// or of the wrong kind.
Expected<EngineStatus> parse_status(const nlohmann::ordered_json& json);
Expected<std::vector<FinishedWindow>> parse_windows(const nlohmann::ordered_json& json);

// "full", as manifests say it.
const char* to_string(ClosedBy reason);

}  // namespace trama
