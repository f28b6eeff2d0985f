// The graphs that come with the command: the files of control/graphs/, put into the program when it is built.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace trama {

struct BuiltinGraph {
  std::string_view name;  // of its file, without .toml
  std::string_view text;
};

const std::vector<BuiltinGraph>& builtin_graphs();
// Null when there is none of that name.
const BuiltinGraph* find_builtin_graph(std::string_view name);
std::vector<std::string> builtin_graph_names();

}  // namespace trama
