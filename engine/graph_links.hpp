// The arrows of a graph file.
#pragma once
#include <string_view>
#include <vector>

#include "engine/graph_spec.hpp"

namespace trama {

// Letters, digits, `_` and `-`, beginning with a letter or digit, not ending in `-`, so that `a-->b` is no name.
bool is_stage_name(std::string_view name);

// "a -> b -> c, d": the links a-b, b-c, b-d, each at `place`. Commas stand in the last element only. A broken text
// gives diagnostics and no links.
std::vector<LinkSpec> parse_links(std::string_view text, const Place& place, Diagnostics& diagnostics);

}  // namespace trama
