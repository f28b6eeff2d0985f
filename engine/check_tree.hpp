// The first half of check(): from links to a tree. What is left out of the tree has been reported.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph_spec.hpp"
#include "engine/registry.hpp"

namespace trama {

struct StageTree {
  static constexpr size_t kNone = SIZE_MAX;
  // Each of these by index into GraphSpec::stages.
  std::vector<const StageKind*> kinds;       // null: unknown
  std::vector<size_t> feeders;               // kNone: nothing feeds it
  std::vector<Place> link_places;            // of the link that feeds it
  std::vector<std::vector<size_t>> readers;  // in the order written
  std::vector<size_t> order;                 // all stages, each after the one that feeds it, level by level
};

// "`build`", or with a name of its own "`by_number` (reorder)".
std::string called(const StageSpec& stage);

// Reports unknown kinds, links to itself, loops, stages fed twice or not at all, sources that are fed and sinks that
// feed, output that nobody reads, stages that no link names, a second source, and a graph without links.
StageTree make_tree(const GraphSpec& spec, const Registry& registry, Diagnostics& diagnostics);

}  // namespace trama
