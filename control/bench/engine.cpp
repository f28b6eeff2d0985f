#include "control/bench/engine.hpp"

#include <string>

#include "control/builtin_graphs.hpp"
#include "control/run_graph.hpp"
#include "engine/check.hpp"
#include "engine/graph_spec.hpp"
#include "engine/plan.hpp"
#include "engine/registry.hpp"
#include "engine/runtime.hpp"

namespace trama {
namespace {

constexpr uint32_t kBatchPackets = 1024;
constexpr size_t kPasses = 10;
constexpr uint64_t kPreparedPackets = 1 << 21;

struct EmptyBatch : Message {
  static constexpr const char* kName = "EmptyBatch";
  explicit EmptyBatch(const Sizes&) {}
};

// The least that a source can do: what is measured behind it is the engine.
class EmptyBatches final : public Stage<void, EmptyBatch> {
 public:
  struct Parameters {
    uint64_t batches = 1;
    void bind(ParameterBinder& binder) { binder.integer("batches", batches, 1, UINT32_MAX, "batches to make"); }
  };
  static constexpr StageInfo kInfo{
      .kind = "empty_batches", .summary = "batches without packets", .numbering = Numbering::opens};
  EmptyBatches(const Parameters& parameters, const ReplicaContext&) : left_(parameters.batches) {}
  Step produce(Output<EmptyBatch>& out) override {
    if (left_ == 0) return Step::end;
    EmptyBatch* batch = out.begin();
    if (!batch) return Step::blocked;
    --left_;
    batch->items = kBatchPackets;
    out.push(batch);
    return Step::done;
  }

 private:
  uint64_t left_;
};

Expected<Cost> run(const GraphSpec& spec, const Registry& registry, uint64_t packets, uint64_t last_messages) {
  auto checked = check(spec, registry);
  if (!checked) return tl::unexpected(checked.error().front());
  const auto plan = make_plan(std::move(*checked), allowed_processors());
  if (!plan) return tl::unexpected(plan.error().front());
  Services services;
  const auto runtime = Runtime::make(*plan, services);
  if (!runtime) return tl::unexpected(runtime.error().front());
  auto cost = timed(packets, [&] { return (*runtime)->run().has_value(); });
  if (!cost) return cost;
  const std::vector<StageCounters> counters = (*runtime)->counters();
  uint64_t messages = 0;
  for (const ReplicaCounters& replica : counters.back().replicas) messages += replica.messages;
  if (messages == last_messages) return cost;
  return failure("the graph's last stage has seen " + std::to_string(messages) + " messages, not " +
                 std::to_string(last_messages));
}

}  // namespace

Expected<Cost> run_ten_passes(uint64_t batches) {
  Registry registry;
  registry.add(describe<EmptyBatches>());
  for (const char* kind : {"pass", "null"}) {
    const StageKind* known = Registry::instance().find(kind);
    if (known == nullptr) return failure("this program has no stage `" + std::string(kind) + "`");
    registry.add(*known);
  }
  std::string links = "empty_batches", tables = "[stages.empty_batches]\nbatches = " + std::to_string(batches) + "\n";
  for (size_t i = 0; i < kPasses; ++i) {
    links += " -> pass" + std::to_string(i);
    tables += "[stages.pass" + std::to_string(i) + "]\nkind = \"pass\"\n";
  }
  const auto spec = parse_graph("[graph]\nworkers = 1\nlinks = [\"" + links + " -> null\"]\n" + tables, "ten passes");
  if (!spec) return tl::unexpected(spec.error().front());
  return run(*spec, registry, batches * kBatchPackets, batches);
}

Expected<Cost> run_memory_graph(TrafficModel model, uint64_t windows, uint64_t window_packets, size_t workers) {
  auto spec = parse_graph(find_builtin_graph("memory")->text, "built-in graph memory");
  if (!spec) return tl::unexpected(spec.error().front());
  const uint64_t packets = windows * window_packets;
  for (const std::string& assignment :
       {"graph.workers=" + std::to_string(workers), "graph.window_packets=" + std::to_string(window_packets),
        std::string("stages.synthetic.model=") + (model == TrafficModel::uniform ? "uniform" : "zipf"),
        "stages.synthetic.packets=" + std::to_string(packets),
        "stages.synthetic.prepared=" + std::to_string(std::min(packets, kPreparedPackets))})
    if (auto wrong = set_parameter(*spec, assignment, {"trama bench", 0})) return tl::unexpected(std::move(*wrong));
  for (StageSpec& stage : spec->stages) {
    const StageKind* kind = Registry::instance().find(stage.kind);
    if (kind != nullptr && kind->info.parallelism == Parallelism::replicated) stage.replicas = workers;
  }
  return run(*spec, Registry::instance(), packets, windows);
}

}  // namespace trama
