#include "control/builtin_graphs.hpp"

#include "builtin_graph_texts.hpp"

namespace trama {

const std::vector<BuiltinGraph>& builtin_graphs() {
  static const std::vector<BuiltinGraph> graphs(std::begin(kBuiltinGraphTexts), std::end(kBuiltinGraphTexts));
  return graphs;
}

const BuiltinGraph* find_builtin_graph(std::string_view name) {
  for (const BuiltinGraph& graph : builtin_graphs())
    if (graph.name == name) return &graph;
  return nullptr;
}

std::vector<std::string> builtin_graph_names() {
  std::vector<std::string> names;
  for (const BuiltinGraph& graph : builtin_graphs()) names.emplace_back(graph.name);
  return names;
}

}  // namespace trama
