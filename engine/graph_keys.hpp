// The keys of [graph] and of [stages.NAME], whether they stand in a file or in a `--set`.
#pragma once
#include <string>

#include "engine/graph_spec.hpp"
#include "engine/toml_text.hpp"

namespace trama {

// False, and a diagnostic, when the value has another type.
bool has_type(const TomlValue& value, TomlValue::Type type, const std::string& key, const Place& place,
              Diagnostics& diagnostics, const char* hint);

// One key of [graph] but for `links`. A refused value gives a diagnostic and changes nothing.
void read_graph_key(GraphSpec& spec, const std::string& key, const TomlValue& value, const Place& place,
                    Diagnostics& diagnostics);

// One key of [stages.NAME]: the engine's, or else a parameter of the stage. The same.
void read_stage_key(StageSpec& stage, const std::string& key, const TomlValue& value, const Place& place,
                    Diagnostics& diagnostics);

}  // namespace trama
