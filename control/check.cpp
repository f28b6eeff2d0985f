// trama check: every error of a graph file, without running it.
#include "engine/check.hpp"

#include <cstdio>

#include "control/run_graph.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "engine/plan.hpp"

namespace trama {

int check_verb(const Arguments& arguments) {
  std::vector<std::string> words;
  CommandLine line("check GRAPH.toml", "Says every error of a graph file, each with its line and what mends it.",
                   "  trama check site.toml\n");
  line.words(words, "GRAPH.toml", 1, 1);
  if (const auto ended = line.ends(arguments)) return *ended;
  const auto spec = load_graph(words[0]);
  if (!spec) return print(spec.error(), graph_lines(words[0])), kMisused;
  auto checked = check(*spec, Registry::instance());
  if (!checked) return print(checked.error(), spec->lines), kMisused;
  const auto plan = make_plan(std::move(*checked), allowed_processors());
  if (!plan) return print(plan.error(), spec->lines), kMisused;
  std::printf("%s: ok, %s, %s\n", printable(words[0]).c_str(), counted(plan->graph.nodes.size(), "stage").c_str(),
              counted(plan->workers, "worker").c_str());
  return kDone;
}

}  // namespace trama
