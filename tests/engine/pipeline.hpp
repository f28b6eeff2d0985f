// A graph shaped as the real one, with small messages, whose output says whether anything was lost, doubled, changed
// or out of order:
//
//   numbers -> parse xN -> in_order -> stamp -> scramble xN -> build xN -> seal xN -> by_number -> left, right
//
// All that depends on data is drawn from the seed and from message numbers; delays are drawn by each replica for
// itself. Two runs of one seed must then have the same output, whatever their replicas, workers, credits and delays.
#pragma once
#include <algorithm>
#include <memory>
#include <string>

#include "engine/simulator.hpp"
#include "tests/engine/pipeline_stages.hpp"
#include "tests/support/graph_fixture.hpp"

namespace trama {

// The graph, ready to be run by threads or by the simulator.
class Pipeline {
 public:
  explicit Pipeline(const PipelineSetup& setup, RetireObserver* observer = nullptr)
      : run_(std::make_shared<PipelineRun>()) {
    run_->setup = setup;
    const size_t n = setup.replicas;
    const auto route = setup.route;
    graph_.services().add(run_);
    graph_.add<NumberSource>("numbers");
    graph_.add<ChooseStage>("parse", {.from = "numbers", .replicas = n, .route = route});
    graph_.add<ReorderStage>("in_order", {.from = "parse"});
    graph_.add<StampStage>("stamp", {.from = "in_order"});
    graph_.add<ScrambleStage>("scramble", {.from = "stamp", .replicas = n, .route = route});
    graph_.add<BuildStage>("build", {.from = "scramble", .replicas = n, .route = route});
    graph_.add<SealStage>("seal", {.from = "build", .replicas = n, .route = route});
    graph_.add<ReorderStage>("by_number", {.from = "seal"});
    graph_.add<RecordSink>("left", {.from = "by_number"});
    graph_.add<RecordSink>("right", {.from = "by_number"});
    FixturePlan plan;
    plan.workers = setup.workers;
    plan.batch_credits = setup.batch_credits;
    plan.window_credits = setup.window_credits;
    plan.sizes = {.batch_items = setup.batch_most, .window_items = setup.window};
    plan.observer = observer;
    runtime_ = graph_.make(plan);
  }

  Runtime& runtime() { return *runtime_; }
  const SinkRecord& left() const { return run_->sinks[0]; }
  const SinkRecord& right() const { return run_->sinks[1]; }

  // What must be true after every run, whatever its schedule; empty when it is.
  std::string broken_rule() const {
    if (runtime_->numbers_alive() != 0) return "numbers are still alive";
    const size_t most = std::max(run_->setup.batch_credits, run_->setup.window_credits) + run_->setup.replicas;
    for (const StageCounters& stage : runtime_->counters()) {
      if (stage.failed_pushes != 0) return "a push into " + stage.name + " failed";
      if (stage.queue_peak > most) return "the queue of " + stage.name + " grew beyond its bound";
      if (stage.lost != 0) return stage.name + " has lost messages";
    }
    if (!(left() == right())) return "the two sinks differ";
    return "";
  }

 private:
  std::shared_ptr<PipelineRun> run_;
  GraphFixture graph_;
  std::unique_ptr<Runtime> runtime_;
};

// The output of the same data on the plainest schedule.
inline SinkRecord expected_output(PipelineSetup setup) {
  setup.replicas = setup.workers = 1;
  setup.batch_credits = setup.window_credits = 4;
  setup.delays = false;
  Pipeline plain(setup);
  if (!Simulator(plain.runtime()).run(1, 1)) return {};
  return plain.left();
}

}  // namespace trama
