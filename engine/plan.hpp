// Checked graph to plan: how many of everything, on this machine. The last step before memory is taken.
#pragma once
#include <vector>

#include "engine/check.hpp"

namespace trama {

struct Plan {
  CheckedGraph graph;
  size_t workers = 1;
  std::vector<size_t> domain_credits;  // C of each domain
  std::vector<int> worker_cores;       // processor of each worker; empty: not pinned
  Sizes sizes;
};

// `processors`: those this process may run on (sched_getaffinity), in rising order. Standards: a worker for each of
// them, 32 batch credits, 2 * workers + 2 window credits, and never fewer than the stages keep. `pin`, or `cores` of
// any stage, pins worker i to processors[i]. Refuses more pinned workers than processors, and cores that this process
// doesn't have or where no worker runs.
tl::expected<Plan, Diagnostics> make_plan(CheckedGraph graph, const std::vector<int>& processors);

}  // namespace trama
