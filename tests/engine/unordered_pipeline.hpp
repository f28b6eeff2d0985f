// The first half of the test pipeline, pipeline.hpp, with an end that doesn't ask for order.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "engine/simulator.hpp"
#include "tests/engine/pipeline_stages.hpp"
#include "tests/support/graph_fixture.hpp"

namespace trama {

// An end without order: here numbers retire out of order, which tells numbered credits from counted ones.
class SumSink final : public Stage<Chosen, Nothing>, Delayed {
 public:
  TRAMA_TEST_STAGE(SumSink)
  static constexpr StageInfo kInfo{
      .kind = "sum", .summary = "adds up", .parallelism = Parallelism::replicated, .ordering = Ordering::preserves};
  SumSink(PipelineRun& run, const std::string& name, const ReplicaContext& context)
      : Delayed(run, name, context.replica), sum_(run.sum) {}
  Step process(Chosen& in, Output<Nothing>& out) override {
    delay();
    uint64_t sum = in.seq * 7 + 1;
    for (uint32_t i = 0; i < in.items; ++i) sum += in.value[i];
    sum_.fetch_add(sum, std::memory_order_relaxed);
    out.release(&in);
    return Step::done;
  }

 private:
  std::atomic<uint64_t>& sum_;
};

// numbers -> parse xN -> sum xN, on a schedule of the simulator or by threads; what is wrong, empty when nothing is.
inline std::string run_unordered(PipelineSetup setup, bool simulated, uint64_t& sum) {
  auto run = std::make_shared<PipelineRun>();
  run->setup = setup;
  GraphFixture graph;
  graph.services().add(run);
  graph.add<NumberSource>("numbers");
  graph.add<ChooseStage>("parse", {.from = "numbers", .replicas = setup.replicas, .route = setup.route});
  graph.add<SumSink>("sum", {.from = "parse", .replicas = setup.replicas, .route = setup.route});
  auto runtime = graph.make({.workers = setup.workers, .batch_credits = setup.batch_credits});
  if (!simulated)
    runtime->run();
  else if (!Simulator(*runtime).run(setup.seed, setup.workers))
    return "deadlock";
  sum = run->sum;
  if (runtime->numbers_alive() != 0) return "numbers are still alive";
  for (const StageCounters& stage : runtime->counters())
    if (stage.failed_pushes != 0) return "a push into " + stage.name + " failed";
  return "";
}

// The sum that a run must have: that of the plainest schedule.
inline uint64_t expected_sum(PipelineSetup setup) {
  setup.replicas = setup.workers = 1;
  setup.delays = false;
  uint64_t sum = 0;
  return run_unordered(setup, true, sum) == "" ? sum : 0;
}

}  // namespace trama
