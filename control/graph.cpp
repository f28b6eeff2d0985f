// trama graph: draws a graph file, or prints the graphs that come with the command.
#include <cstdio>

#include "control/builtin_graphs.hpp"
#include "control/run_graph.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "engine/check.hpp"
#include "engine/suggest.hpp"

namespace trama {
namespace {

int print_builtin(const std::vector<std::string>& words) {
  const std::vector<std::string> names = builtin_graph_names();
  if (words.empty()) {
    for (const std::string& name : names) std::printf("%s\n", name.c_str());
    return kDone;
  }
  const BuiltinGraph* graph = find_builtin_graph(words[0]);
  if (!graph) {
    print_error("there is no built-in graph `" + words[0] + "`", suggestion(words[0], "there are", names));
    return kMisused;
  }
  std::fwrite(graph->text.data(), 1, graph->text.size(), stdout);
  return kDone;
}

}  // namespace

int graph_verb(const Arguments& arguments) {
  bool builtin = false;
  std::vector<std::string> words;
  CommandLine line("graph GRAPH.toml | --builtin [NAME]", "Draws a graph in the language of Graphviz.",
                   "  trama graph site.toml | dot -Tsvg > site.svg\n"
                   "  trama graph --builtin pcap > site.toml      to begin with\n");
  line.flag("--builtin", builtin, "print a graph that comes with the command; without NAME: their names");
  line.words(words, "GRAPH.toml", 0, 1);
  if (const auto ended = line.ends(arguments)) return *ended;
  if (builtin) return print_builtin(words);
  if (words.empty()) return print_error("GRAPH.toml is missing", "or give --builtin"), kMisused;
  const auto spec = load_graph(words[0]);
  if (!spec) return print(spec.error(), graph_lines(words[0])), kMisused;
  const auto checked = check(*spec, Registry::instance());
  if (!checked) return print(checked.error(), spec->lines), kMisused;
  std::fputs(to_dot(*checked).c_str(), stdout);
  return kDone;
}

}  // namespace trama
