// A checked graph for Graphviz. A domain is a box around its stages: inside it one sequence of numbers runs.
#include "engine/check.hpp"

namespace trama {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"";
}

// "\n" here is Graphviz' own sequence for a new line in a label, so it is put in after the quoting.
std::string label(const CheckedGraph::Node& node) {
  std::string text = quoted(node.spec.name);
  text.pop_back();
  if (node.spec.kind != node.spec.name) {
    const std::string kind = quoted(node.spec.kind);
    text += "\\n" + kind.substr(1, kind.size() - 2);
  }
  if (node.kind->info.parallelism == Parallelism::serial) return text + "\\nserial\"";
  const size_t replicas = node.spec.replicas;
  return text + "\\n" + std::to_string(replicas) + (replicas == 1 ? " replica\"" : " replicas\"");
}

std::string stage_line(const CheckedGraph::Node& node) {
  const bool restores = node.kind->info.ordering == Ordering::restores;
  return "    " + quoted(node.spec.name) + " [label=" + label(node) + (restores ? ", style=rounded" : "") + "];\n";
}

std::string edge_line(const CheckedGraph::Node& from, const CheckedGraph::Node& to) {
  std::string text = from.output ? std::string(from.output->name) : "";
  if (to.spec.route == Route::by_window) text += " by window";
  const bool may_lose = to.kind->info.may_lose > 0;
  return "  " + quoted(from.spec.name) + " -> " + quoted(to.spec.name) + " [label=" + quoted(text) +
         (may_lose ? ", style=dashed" : "") + "];\n";
}

}  // namespace

std::string to_dot(const CheckedGraph& graph) {
  std::string text = "digraph trama {\n  rankdir=LR;\n  node [shape=box];\n";
  for (size_t domain = 0; domain < graph.domains.size(); ++domain) {
    text += "  subgraph cluster_" + std::to_string(domain) +
            " {\n    label=" + (graph.domains[domain].windows ? "windows" : "batches") + ";\n    style=dotted;\n";
    for (const CheckedGraph::Node& node : graph.nodes)
      if (node.domain_out == domain) text += stage_line(node);
    text += "  }\n";
  }
  for (const CheckedGraph::Node& node : graph.nodes)
    for (const size_t reader : node.readers) text += edge_line(node, graph.nodes[reader]);
  return text + "}\n";
}

}  // namespace trama
