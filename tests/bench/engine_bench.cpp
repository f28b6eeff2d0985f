// What the engine itself costs: ten stages that only hand on, batches of 1024 packets. Goal: at most 1 ns a packet for
// all ten with one worker. Medians of several runs. The counters are of processor time, of all workers together, so
// that a busy machine does not show in them.
#include <benchmark/benchmark.h>

#include "tests/engine/small_stages.hpp"

namespace trama {
namespace {

constexpr size_t kPackets = 1024, kStages = 10;

class BatchSource final : public Stage<void, Numbers> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "batches", .summary = "whole batches", .numbering = Numbering::opens};
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    const size_t batches = context.services.get<Hooks>()->messages;
    return StageFactory([batches](const ReplicaContext&) { return std::make_unique<BatchSource>(batches); });
  }
  explicit BatchSource(size_t batches) : left_(batches) {}
  Step produce(Output<Numbers>& out) override {
    if (left_ == 0) return Step::end;
    Numbers* batch = out.begin();
    if (!batch) return Step::blocked;
    --left_;
    batch->items = kPackets;
    out.push(batch);
    return Step::done;
  }

 private:
  size_t left_;
};

class ReleaseSink final : public Stage<Message, Nothing> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "release", .summary = "lets go"};
  ReleaseSink(const Parameters&, const ReplicaContext&) {}
  Step process(Message& in, Output<Nothing>& out) override {
    out.release(&in);
    return Step::done;
  }
};

void ten_stages(benchmark::State& state) {
  constexpr size_t kBatches = 20000;
  const auto workers = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    GraphFixture graph;
    auto hooks = std::make_shared<Hooks>();
    hooks->messages = kBatches;
    graph.services().add(hooks);
    graph.add<BatchSource>("source");
    std::string last = "source";
    for (size_t i = 0; i < kStages; ++i) {
      const std::string name = "pass" + std::to_string(i);
      graph.add<PassStage>(name, {.from = last, .replicas = workers});
      last = name;
    }
    graph.add<ReleaseSink>("sink", {.from = last});
    auto runtime = graph.make({.workers = workers,
                               .batch_credits = 32,
                               .sizes = {.batch_items = kPackets, .window_items = 1},
                               .options = RuntimeOptions{}});
    state.ResumeTiming();
    runtime->run();
    state.PauseTiming();
    runtime.reset();
    state.ResumeTiming();
  }
  const double batches = static_cast<double>(state.iterations()) * kBatches;
  const auto per = [](double count) {
    return benchmark::Counter(count * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  };
  state.counters["ns/packet"] = per(batches * kPackets);
  state.counters["ns/message/stage"] = per(batches * (kStages + 2));
}
BENCHMARK(ten_stages)
    ->Arg(1)
    ->Arg(2)
    ->ArgName("workers")
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond)
    ->Repetitions(9)
    ->ReportAggregatesOnly(true);

}  // namespace
}  // namespace trama

BENCHMARK_MAIN();
