#include "engine/plan.hpp"

#include <algorithm>
#include <string>

#include "engine/diagnostic_list.hpp"

namespace trama {
namespace {

constexpr size_t kBatchCredits = 32;

// At least what check() asks for; what somebody wrote has passed check().
size_t credits_of(const CheckedGraph::DomainNeeds& domain, const GraphSpec& spec, size_t workers) {
  const size_t written = domain.windows ? spec.window_credits : spec.batch_credits;
  const size_t standard = domain.windows ? 2 * workers + 2 : kBatchCredits;
  return std::max(written ? written : standard, 1 + domain.holds);
}

bool holds(const std::vector<int>& cores, uint64_t core) {
  return std::find(cores.begin(), cores.end(), static_cast<int>(core)) != cores.end();
}

// A stage's replicas run on the workers of its cores: each of these needs a worker.
void check_cores(const StageSpec& stage, const std::vector<int>& processors, const std::vector<int>& worker_cores,
                 Diagnostics& diagnostics) {
  for (const uint64_t core : stage.cores) {
    const std::string processor = "processor " + std::to_string(core);
    if (!holds(processors, core)) {
      refuse(diagnostics, stage.cores_place,
             "`" + stage.name + "` is to run on " + processor + ", which this process doesn't have",
             "`nproc` and `taskset -p $$` tell which there are");
    } else if (!holds(worker_cores, core)) {
      refuse(diagnostics, stage.cores_place,
             "`" + stage.name + "` is to run on " + processor + ", but no worker runs there",
             "the " + std::to_string(worker_cores.size()) + " workers have the first processors: raise `workers`");
    }
  }
}

}  // namespace

tl::expected<Plan, Diagnostics> make_plan(CheckedGraph graph, const std::vector<int>& processors) {
  const GraphSpec& spec = graph.spec;
  Plan plan;
  plan.sizes = spec.sizes;
  plan.workers = spec.workers ? spec.workers : std::max<size_t>(1, processors.size());
  for (const CheckedGraph::DomainNeeds& domain : graph.domains)
    plan.domain_credits.push_back(credits_of(domain, spec, plan.workers));

  Diagnostics diagnostics;
  const bool pinned = spec.pin || std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                              [](const auto& node) { return !node.spec.cores.empty(); });
  if (pinned && plan.workers > processors.size()) {
    refuse(diagnostics, spec.workers_place,
           std::to_string(plan.workers) + " workers can't be pinned to " + std::to_string(processors.size()) +
               " processors",
           "lower `workers`, or take out `pin` and `cores`");
  } else if (pinned) {
    plan.worker_cores.assign(processors.begin(), processors.begin() + static_cast<ptrdiff_t>(plan.workers));
    for (const CheckedGraph::Node& node : graph.nodes)
      check_cores(node.spec, processors, plan.worker_cores, diagnostics);
  }
  if (!diagnostics.empty()) return tl::unexpected(in_order(std::move(diagnostics)));
  plan.graph = std::move(graph);
  return plan;
}

}  // namespace trama
