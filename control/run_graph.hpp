// From the options of `trama run` to a graph: a file or the built-in one, with parameters set.
#pragma once
#include <string>
#include <vector>

#include "control/run_options.hpp"
#include "engine/graph_spec.hpp"
#include "engine/registry.hpp"

namespace trama {

// `processors`: how many this process may run on; so many replicas the stages of the built-in graph get that may have
// some, where nothing else was said. All errors at once.
tl::expected<GraphSpec, Diagnostics> make_graph(const RunOptions& options, const Registry& registry, size_t processors);

// SHA-256, in hexadecimal, of the canonical graph: stages, links and what changes the result, but
// privacy ranges and filter expressions.
std::string graph_identity(const GraphSpec& spec);

// The lines of a graph file, for showing what is wrong with them; none when it can't be read.
SourceLines graph_lines(const std::string& path);

// Files that the graph reads: inputs, key, exclusion lists, and the graph itself; as they were written.
std::vector<std::string> files_read(const GraphSpec& spec);
// The value of the first parameter of this name that is a text; empty when there is none.
std::string text_parameter(const GraphSpec& spec, const std::string& name);

// Those that this process may run on.
std::vector<int> allowed_processors();

}  // namespace trama
