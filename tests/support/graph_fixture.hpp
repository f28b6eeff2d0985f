// A graph made by hand: from stage classes to a plan, without a graph file, a registry or the checker.
//
//   GraphFixture graph;
//   graph.add<Source>("source");
//   graph.add<Work>("work", {.from = "source", .replicas = 4});
//   graph.add<Sink>("sink", {.from = "work"});
//   auto runtime = graph.make({.workers = 2});
//
// Stages come after the one that feeds them. Nothing is checked: a test may ask for what the checker would refuse.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/registry.hpp"
#include "engine/runtime.hpp"

namespace trama {

struct FixtureStage {
  std::string from = {};  // empty: a source
  size_t replicas = 1;
  std::optional<Route> route = {};
  std::vector<uint64_t> cores = {};
  ParameterTable parameters = {};
};

struct FixturePlan {
  size_t workers = 1;
  size_t batch_credits = 4;   // of domains that a source opens
  size_t window_credits = 4;  // of all others
  Sizes sizes{.batch_items = 64, .window_items = 256};
  std::vector<int> worker_cores = {};
  RetireObserver* observer = nullptr;
  // Without a time limit a sleeping worker is only woken by somebody: a wake-up that was lost is a stall.
  RuntimeOptions options{.spins = 10, .sleep_ms = -1};
};

class GraphFixture {
 public:
  template <class S>
  void add(std::string name, FixtureStage stage = {}) {
    own_kinds_.push_back(describe<S>());
    add_kind(std::move(name), own_kinds_.back(), std::move(stage));
  }
  void add_kind(std::string name, const StageKind& kind, FixtureStage stage = {}) {
    CheckedGraph::Node node;
    node.spec.name = std::move(name);
    node.spec.kind = kind.info.kind;
    node.spec.replicas = stage.replicas;
    node.spec.route = stage.route;
    node.spec.cores = std::move(stage.cores);
    node.spec.parameters = std::move(stage.parameters);
    node.kind = &kind;
    const size_t at = graph_.nodes.size();
    node.feeder = kind.source ? at : index_of(stage.from);
    node.output = kind.output;
    if (!kind.source) {
      CheckedGraph::Node& feeder = graph_.nodes[node.feeder];
      feeder.readers.push_back(at);
      if (kind.any_type && !kind.sink) node.output = feeder.output;
      node.domain_in = feeder.domain_out;
      graph_.domains[node.domain_in].may_lose += kind.info.may_lose;
    }
    if (kind.info.numbering == Numbering::opens) {
      if (!kind.source) graph_.domains[node.domain_in].ends_in_sinks = false;
      node.domain_out = graph_.domains.size();
      if (kind.source) node.domain_in = node.domain_out;
      graph_.domains.push_back({.holds = 0, .may_lose = 0, .ends_in_sinks = true, .windows = !kind.source});
    } else {
      node.domain_out = node.domain_in;
    }
    graph_.nodes.push_back(std::move(node));
  }

  Services& services() { return services_; }
  const CheckedGraph& graph() const { return graph_; }

  Plan plan(const FixturePlan& wanted) const {
    Plan plan;
    plan.graph = graph_;
    plan.workers = wanted.workers;
    plan.sizes = wanted.sizes;
    plan.worker_cores = wanted.worker_cores;
    for (const auto& domain : graph_.domains)
      plan.domain_credits.push_back(domain.windows ? wanted.window_credits : wanted.batch_credits);
    return plan;
  }
  tl::expected<std::unique_ptr<Runtime>, Diagnostics> try_make(const FixturePlan& wanted) {
    return Runtime::make(plan(wanted), services_, wanted.observer, wanted.options);
  }
  // For graphs whose set-up can't fail.
  std::unique_ptr<Runtime> make(const FixturePlan& wanted) {
    auto runtime = try_make(wanted);
    if (!runtime) fail(runtime.error().front().text);
    return std::move(*runtime);
  }

 private:
  size_t index_of(const std::string& name) const {
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      if (graph_.nodes[i].spec.name == name) return i;
    fail("no stage is called " + name);
  }
  [[noreturn]] static void fail(const std::string& why) {
    std::fprintf(stderr, "graph fixture: %s\n", why.c_str());
    std::abort();
  }

  std::deque<StageKind> own_kinds_;
  CheckedGraph graph_;
  Services services_;
};

}  // namespace trama
