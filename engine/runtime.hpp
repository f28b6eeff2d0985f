// The running graph: replicas, edges, pools and credits made from a plan, and the workers that step them.
//
// A worker looks for work from the most downstream stage upward, so that the window it has just anonymized is built and
// serialized next, while it is in cache. One step is two halves, take() and go_on(), shared by the threads here and by
// the simulator (simulator.hpp), which may hold a replica up between the two.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/output.hpp"
#include "engine/plan.hpp"
#include "engine/services.hpp"
#include "engine/stage.hpp"

namespace trama {

// What a stage's replica has done so far. Exact once the graph has ended; before that each number is a recent one.
struct ReplicaCounters {
  uint64_t messages = 0;     // steps that were done
  uint64_t items = 0;        // packets or pairs in what it pushed
  uint64_t busy_cycles = 0;  // spent stepping the stage (engine/cycles.hpp)
  uint64_t blocked = 0;      // steps that found no credit
};
struct StageCounters {
  std::string name, kind;
  std::vector<ReplicaCounters> replicas;
  size_t queue_peak = 0;       // most messages seen waiting in front of the stage or being processed
  uint64_t lost = 0;           // passed by a reader that may lose
  uint64_t failed_pushes = 0;  // a ring was full against the rules: always 0
};

struct RuntimeOptions {
  int spins = 100;     // rounds an idle worker looks around before it sleeps, about 20 us
  int sleep_ms = 100;  // longest sleep, -1 without end: a safety net, no mechanism depends on it
};

class Runtime final : public EngineControl {
 public:
  // Makes every stage, edge, pool and buffer. All stages' setup errors at once; then nothing has run.
  static tl::expected<std::unique_ptr<Runtime>, Diagnostics> make(const Plan& plan, Services& services,
                                                                  RetireObserver* observer = nullptr,
                                                                  const RuntimeOptions& options = {});
  ~Runtime() override;

  // Starts the workers and returns when every stage has drained; once. Fails, and has done nothing, when the system
  // gives no threads.
  Expected<void> run();

  // Any thread, and signal handlers too for stop_sources().
  void stop_sources() override;
  void wake() override;
  std::vector<StageCounters> counters() const;
  // For each worker, how often it has looked for work; all 0 before run(). Until the graph ends each number grows at
  // least once every sleep_ms, unless the worker is inside a step of some stage: one that stands still is stuck there.
  std::vector<uint64_t> rounds() const;

  size_t stages() const { return nodes_.size(); }
  size_t numbers_alive() const;  // of all domains; 0 after run()

 private:
  friend class Simulator;

  struct alignas(64) Replica {
    std::atomic<bool> claimed{false};
    std::unique_ptr<StageBase> stage;
    OutputBase output;
    Message* held = nullptr;  // taken out, and not yet done with
    bool drained = false;
    bool stuck = false;  // its last step did not come forward
    bool idle = false;   // because its source has no data
    // Written by whoever has the claim, read by counters().
    std::atomic<uint64_t> messages{0}, busy_cycles{0}, blocked{0}, items{0};
    bool claim() {
      return !claimed.load(std::memory_order_relaxed) && !claimed.exchange(true, std::memory_order_seq_cst);
    }
    void unclaim() { claimed.store(false, std::memory_order_seq_cst); }
  };
  struct Node {
    std::string name, kind;
    bool source = false;
    bool opens = false;
    std::vector<uint64_t> cores;
    std::unique_ptr<Edge> input;
    std::unique_ptr<PoolBase> pool;
    std::vector<std::unique_ptr<Replica>> replicas;
    std::vector<Node*> readers;
    std::atomic<int> open_writers{0};
    std::atomic<size_t> drained{0};
    std::atomic<bool> finished{false};
    bool runs_on(int core) const;
  };
  struct alignas(64) Heartbeat {
    std::atomic<uint64_t> rounds{0};  // written by its worker alone
  };

  Runtime(const Plan& plan, const RuntimeOptions& options);
  void make_edges(const CheckedGraph& graph, const Plan& plan);
  void make_replicas(const CheckedGraph& graph, const Plan& plan, const std::vector<StageFactory>& factories);

  // The two halves of a step. take(): is there something for this replica, and whatever it is is now in its hands.
  // go_on(): true when it came forward.
  bool take(Node& node, size_t replica);
  bool go_on(Node& node, size_t replica);
  bool may_drain(const Node& node) const;
  bool drain(Node& node, Replica& replica);

  // What a worker that has found no work is at (engine/doze.hpp).
  enum class Look { none, searching, last };
  void end_look(Look& look);
  // Steps one claimed replica, a few times while its messages are small.
  static constexpr size_t kBurstMessages = 8, kBurstItems = 8192;
  bool burst(Node& node, size_t replica, Look& look);
  bool try_node(Node& node, size_t worker, int core, Look& look);
  bool try_all(size_t worker, int core, Look& look);
  void work(size_t worker);
  bool all_finished() const { return finished_.load(std::memory_order_seq_cst) == nodes_.size(); }

  std::vector<std::unique_ptr<Domain>> domains_;
  std::vector<std::unique_ptr<Node>> nodes_;  // sources first
  std::vector<int> worker_cores_;
  size_t workers_;
  std::vector<Heartbeat> heartbeats_;  // of each worker
  RuntimeOptions options_;
  Doze doze_;
  std::atomic<size_t> finished_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace trama
