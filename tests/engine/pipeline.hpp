// A graph shaped as the real one, with small messages, whose output says whether anything was lost, doubled, changed
// or out of order:
//
//   numbers -> parse xN -> in_order -> stamp -> scramble xN -> build xN -> seal xN -> by_number -> left, right
//
// All that depends on data is drawn from the seed and from message numbers; delays are drawn by each replica for
// itself. Two runs of one seed must then have the same output, whatever their replicas, workers, credits and delays.
#pragma once
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/cycles.hpp"
#include "engine/reorder.hpp"
#include "engine/simulator.hpp"
#include "tests/support/graph_fixture.hpp"

namespace trama {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x1234567) { (*this)(2); }
  size_t operator()(size_t below) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<size_t>((state_ >> 11) % below);
  }

 private:
  uint64_t state_;
};

struct PipelineSetup {
  uint64_t seed = 1;
  size_t batches = 50;
  size_t batch_most = 32;  // values in a batch
  size_t window = 64;      // values in a window
  size_t replicas = 1, workers = 1, batch_credits = 4, window_credits = 4;
  Route route = Route::any;
  bool delays = false;
};

inline PipelineSetup draw_setup(uint64_t seed) {
  Random random(seed);
  PipelineSetup setup;
  setup.seed = seed;
  setup.batches = 20 + random(100);
  setup.batch_most = 1 + random(64);
  setup.window = 8 + random(120);
  setup.replicas = 1 + random(4);
  setup.workers = 1 + random(8);
  setup.batch_credits = 1 + random(8);
  setup.window_credits = 1 + random(8);
  setup.route = random(4) == 0 ? Route::by_window : Route::any;
  setup.delays = true;
  return setup;
}

// What a sink has seen.
struct SinkRecord {
  std::string name = {};
  uint64_t hash = 14695981039346656037u;  // FNV-1a over numbers, skips and values
  uint64_t messages = 0;
  bool in_order = true;
  bool operator==(const SinkRecord& other) const {
    return hash == other.hash && messages == other.messages && in_order && other.in_order;
  }
};

// One run: what its stages are told, and what its sinks have seen.
struct PipelineRun {
  PipelineSetup setup;
  std::vector<SinkRecord> sinks = {};
  std::atomic<uint64_t> sum{0};
};

// Base of the replicated stages: holds its replica up at random.
class Delayed {
 public:
  Delayed(const PipelineRun& run, const std::string& stage, size_t replica)
      : random_(run.setup.seed * 1000 + std::hash<std::string>()(stage) % 97 * 8 + replica),
        delays_(run.setup.delays) {}
  void delay() {
    if (!delays_) return;
    switch (random_(16)) {
      case 0: std::this_thread::yield(); break;
      case 1: std::this_thread::sleep_for(std::chrono::microseconds(random_(60))); break;
      default:
        for (size_t n = random_(400); n > 0; --n) relax();
    }
  }

 private:
  Random random_;
  bool delays_;
};

struct Numbers : Message {
  static constexpr const char* kName = "Numbers";
  explicit Numbers(const Sizes& sizes) : value(sizes.batch_items) {}
  std::vector<uint32_t> value;
};
struct Chosen : Message {
  static constexpr const char* kName = "Chosen";
  explicit Chosen(const Sizes& sizes) : value(sizes.batch_items) {}
  std::vector<uint32_t> value;
};
struct Heap : Message {
  static constexpr const char* kName = "Heap";
  explicit Heap(const Sizes& sizes) : value(sizes.window_items) {}
  std::vector<uint32_t> value;
};
struct Built : Message {
  static constexpr const char* kName = "Built";
  explicit Built(const Sizes& sizes) : value(sizes.window_items) {}
  std::vector<uint32_t> value;
};

// Makes a stage that is told of the run and of its replica: S(run, stage name, replica context).
template <class S>
Expected<StageFactory> with_run(const SetupContext& context) {
  auto run = context.services.get<PipelineRun>();
  return StageFactory([run, name = context.name](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
    return std::make_unique<S>(*run, name, replica);
  });
}
#define TRAMA_TEST_STAGE(Class)                                                        \
  using Parameters = NoParameters;                                                     \
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) { \
    return with_run<Class>(context);                                                   \
  }

class NumberSource final : public Stage<void, Numbers> {
 public:
  TRAMA_TEST_STAGE(NumberSource)
  static constexpr StageInfo kInfo{.kind = "numbers", .summary = "random values", .numbering = Numbering::opens};
  NumberSource(const PipelineRun& run, const std::string&, const ReplicaContext&)
      : data_(run.setup.seed * 77 + 13), left_(run.setup.batches), most_(run.setup.batch_most) {}

  Step produce(Output<Numbers>& out) override {
    if (left_ == 0) return Step::end;
    Numbers* batch = out.begin();
    if (!batch) return Step::blocked;
    --left_;
    batch->items = static_cast<uint32_t>(data_(most_ + 1));
    batch->skip = data_(8) == 0;
    for (uint32_t i = 0; i < batch->items; ++i) batch->value[i] = static_cast<uint32_t>(data_(1u << 30));
    out.push(batch);
    return Step::done;
  }

 private:
  Random data_;
  size_t left_, most_;
};

class ChooseStage final : public Stage<Numbers, Chosen>, Delayed {
 public:
  TRAMA_TEST_STAGE(ChooseStage)
  static constexpr StageInfo kInfo{.kind = "parse",
                                   .summary = "leaves some out",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};
  ChooseStage(const PipelineRun& run, const std::string& name, const ReplicaContext& context)
      : Delayed(run, name, context.replica) {}

  Step process(Numbers& in, Output<Chosen>& out) override {
    delay();
    Chosen* chosen = out.follow(in);
    for (uint32_t i = 0; i < in.items && !in.skip; ++i)
      if (in.value[i] % 5 != 0) chosen->value[chosen->items++] = in.value[i];
    out.release(&in);
    delay();
    out.push(chosen);
    return Step::done;
  }
};

class ReorderStage final : public Stage<Message, Message> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "reorder", .summary = "restores order", .ordering = Ordering::restores};
  ReorderStage(const Parameters&, const ReplicaContext& context) : buffer_(context.input_credits) {}

  Step process(Message& in, Output<Message>& out) override {
    buffer_.put(&in, [&out](Message* ready) { out.push(ready); });
    return Step::done;
  }

 private:
  ReorderBuffer buffer_;
};

class StampStage final : public Stage<Chosen, Heap> {
 public:
  TRAMA_TEST_STAGE(StampStage)
  static constexpr StageInfo kInfo{.kind = "stamp", .summary = "cuts windows", .numbering = Numbering::opens};
  StampStage(const PipelineRun& run, const std::string&, const ReplicaContext&) : size_(run.setup.window) {}

  Step process(Chosen& in, Output<Heap>& out) override {
    while (!in.skip && used_ < in.items) {
      if (!heap_) heap_ = out.begin();
      if (!heap_) return Step::blocked;
      while (used_ < in.items && heap_->items < size_) heap_->value[heap_->items++] = in.value[used_++];
      if (heap_->items == size_) out.push(std::exchange(heap_, nullptr));
    }
    used_ = 0;
    out.release(&in);
    return Step::done;
  }
  Step drain(Output<Heap>& out) override {
    if (heap_) out.push(std::exchange(heap_, nullptr));
    return Step::done;
  }

 private:
  size_t size_;
  uint32_t used_ = 0;  // of the batch at hand; survives a blocked step
  Heap* heap_ = nullptr;
};

class ScrambleStage final : public Stage<Heap, Heap>, Delayed {
 public:
  TRAMA_TEST_STAGE(ScrambleStage)
  static constexpr StageInfo kInfo{.kind = "scramble",
                                   .summary = "changes values where they are",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves,
                                   .changes_input = true};
  ScrambleStage(const PipelineRun& run, const std::string& name, const ReplicaContext& context)
      : Delayed(run, name, context.replica) {}

  Step process(Heap& in, Output<Heap>& out) override {
    delay();
    for (uint32_t i = 0; i < in.items; ++i) in.value[i] = in.value[i] * 2654435761u + 1;
    in.skip = in.skip || in.seq % 11 == 3;
    out.push(&in);
    return Step::done;
  }
};

class BuildStage final : public Stage<Heap, Built>, Delayed {
 public:
  TRAMA_TEST_STAGE(BuildStage)
  static constexpr StageInfo kInfo{.kind = "build",
                                   .summary = "another message",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};
  BuildStage(const PipelineRun& run, const std::string& name, const ReplicaContext& context)
      : Delayed(run, name, context.replica) {}

  Step process(Heap& in, Output<Built>& out) override {
    delay();
    Built* built = out.follow(in);
    built->items = in.items;
    for (uint32_t i = 0; i < in.items; ++i) built->value[i] = in.value[i] ^ static_cast<uint32_t>(in.seq);
    out.release(&in);
    delay();
    out.push(built);
    return Step::done;
  }
};

class SealStage final : public Stage<Built, Built>, Delayed {
 public:
  TRAMA_TEST_STAGE(SealStage)
  static constexpr StageInfo kInfo{.kind = "seal",
                                   .summary = "changes values where they are",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves,
                                   .changes_input = true};
  SealStage(const PipelineRun& run, const std::string& name, const ReplicaContext& context)
      : Delayed(run, name, context.replica),
        holds_(run.setup.route == Route::by_window && context.input_credits > context.replicas) {}

  Step process(Built& in, Output<Built>& out) override {
    delay();
    for (uint32_t i = 0; i < in.items; ++i) in.value[i] += i;
    Message* const ready = holds_ ? std::exchange(held_, &in) : &in;
    if (ready) out.push(ready);
    return Step::done;
  }
  Step drain(Output<Built>& out) override {
    if (held_) out.push(std::exchange(held_, nullptr));
    return Step::done;
  }

 private:
  // Keeps a message until its next one, which is certain to come (or the end) only where each replica has its own turn.
  bool holds_;
  Message* held_ = nullptr;
};

// Adds itself to the run's sinks when it is set up.
class RecordSink final : public Stage<Built, Nothing>, Delayed {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "record", .summary = "hashes what comes"};

  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto run = context.services.get<PipelineRun>();
    const size_t at = run->sinks.size();
    run->sinks.push_back({.name = context.name});
    return StageFactory([run, at](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<RecordSink>(*run, run->sinks[at], replica);
    });
  }
  RecordSink(const PipelineRun& run, SinkRecord& record, const ReplicaContext& context)
      : Delayed(run, record.name, context.replica), record_(record) {}

  Step process(Built& in, Output<Nothing>& out) override {
    delay();
    record_.in_order = record_.in_order && in.seq == record_.messages;
    ++record_.messages;
    mix(in.seq);
    mix(in.skip);
    for (uint32_t i = 0; i < in.items && !in.skip; ++i) mix(in.value[i]);
    out.release(&in);
    return Step::done;
  }

 private:
  void mix(uint64_t value) { record_.hash = (record_.hash ^ value) * 1099511628211u; }
  SinkRecord& record_;
};

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
