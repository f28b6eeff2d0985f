#include "engine/runtime.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <thread>

#include "engine/cycles.hpp"

namespace trama {

namespace {

// Where stages are tied to processors it matters who wakes up.
size_t seats(const Plan& plan) {
  const auto& nodes = plan.graph.nodes;
  const bool tied = std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return !node.spec.cores.empty(); });
  return tied ? plan.workers : 1;
}

}  // namespace

Runtime::Runtime(const Plan& plan, const RuntimeOptions& options)
    : worker_cores_(plan.worker_cores),
      workers_(plan.workers),
      heartbeats_(plan.workers),
      options_(options),
      doze_(seats(plan)) {
  for (size_t credits : plan.domain_credits) domains_.push_back(std::make_unique<Domain>(credits));
}

// Replicas go before the pools whose buffers they may still hold.
Runtime::~Runtime() {
  for (auto& node : nodes_) node->replicas.clear();
}

tl::expected<std::unique_ptr<Runtime>, Diagnostics> Runtime::make(const Plan& plan, Services& services,
                                                                  RetireObserver* observer,
                                                                  const RuntimeOptions& options) {
  const CheckedGraph& graph = plan.graph;
  std::vector<StageFactory> factories;
  Diagnostics wrong;
  for (const CheckedGraph::Node& node : graph.nodes) {
    const SetupContext context{node.spec.name, node.spec.place, plan.sizes, node.spec.replicas, services};
    auto factory = node.kind->make(node.spec.parameters, context);
    if (factory)
      factories.push_back(std::move(*factory));
    else
      wrong.insert(wrong.end(), factory.error().begin(), factory.error().end());
  }
  if (!wrong.empty()) return tl::unexpected(std::move(wrong));

  std::unique_ptr<Runtime> runtime(new Runtime(plan, options));
  for (size_t d = 0; d < graph.domains.size(); ++d)
    if (graph.domains[d].ends_in_sinks) runtime->domains_[d]->observer = observer;
  runtime->make_edges(graph, plan);
  runtime->make_replicas(graph, plan, factories);
  return runtime;
}

void Runtime::make_edges(const CheckedGraph& graph, const Plan& plan) {
  for (const CheckedGraph::Node& checked : graph.nodes) {
    auto node = std::make_unique<Node>();
    node->name = checked.spec.name;
    node->kind = checked.spec.kind;
    node->source = checked.kind->source;
    node->opens = checked.kind->info.numbering == Numbering::opens;
    node->cores = checked.spec.cores;
    if (!node->source) {
      const size_t producers = graph.nodes[checked.feeder].spec.replicas;
      node->input = std::make_unique<Edge>(plan.domain_credits[checked.domain_in], producers,
                                           checked.spec.route.value_or(Route::any), checked.spec.replicas,
                                           checked.kind->info.may_lose);
      node->open_writers = 1;
    }
    if (checked.kind->makes_buffers()) {
      // A reader that may lose holds its buffers beyond the life of their numbers.
      const size_t size = plan.domain_credits[checked.domain_out] + graph.domains[checked.domain_out].may_lose;
      node->pool = checked.output->make_pool(size, plan.sizes);
    }
    nodes_.push_back(std::move(node));
  }
  for (size_t n = 0; n < nodes_.size(); ++n)
    for (size_t reader : graph.nodes[n].readers) nodes_[n]->readers.push_back(nodes_[reader].get());
}

void Runtime::make_replicas(const CheckedGraph& graph, const Plan& plan, const std::vector<StageFactory>& factories) {
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const CheckedGraph::Node& checked = graph.nodes[n];
    Node& node = *nodes_[n];
    const size_t credits = node.source ? 0 : plan.domain_credits[checked.domain_in];
    const size_t most_held = std::max(credits, checked.kind->info.may_lose);
    for (size_t r = 0; r < checked.spec.replicas; ++r) {
      auto replica = std::make_unique<Replica>();
      replica->stage = factories[n](ReplicaContext{r, checked.spec.replicas, credits, most_held, plan.sizes, *this});
      OutputBase& output = replica->output;
      output.opens_ = node.opens;
      output.ends_ = checked.kind->sink || (node.opens && !node.source);
      output.loses_ = checked.kind->info.may_lose > 0;
      output.input_ = node.input.get();
      output.from_ = node.source ? nullptr : domains_[checked.domain_in].get();
      output.to_ = domains_[checked.domain_out].get();
      output.pool_ = node.pool.get();
      output.doze_ = &doze_;
      for (const bool may_lose : {true, false}) {
        for (Node* reader : node.readers) {
          if (reader->input->may_lose() != may_lose) continue;
          output.ways_.push_back({reader->input.get(), r});
          output.keepers_ += !may_lose;
        }
      }
      node.replicas.push_back(std::move(replica));
    }
  }
}

bool Runtime::Node::runs_on(int core) const {
  return cores.empty() || std::find(cores.begin(), cores.end(), static_cast<uint64_t>(core)) != cores.end();
}

bool Runtime::take(Node& node, size_t r) {
  Replica& replica = *node.replicas[r];
  if (node.finished.load(std::memory_order_acquire)) return false;
  if (node.source) return !replica.drained;
  if (replica.held) return true;
  if (node.input->empty_for(r)) return may_drain(node) && !replica.drained;
  replica.held = node.input->pop(r);
  return replica.held != nullptr;
}

bool Runtime::go_on(Node& node, size_t r) {
  Replica& replica = *node.replicas[r];
  if (!node.source && !replica.held) return drain(node, replica);
  if (node.source && stop_.load(std::memory_order_relaxed)) return drain(node, replica);

  replica.stuck = true;
  const Step step = replica.stage->step(replica.held, replica.output);
  replica.idle = step == Step::idle;
  switch (step) {
    case Step::done:
      replica.stuck = false;
      replica.messages.store(replica.messages.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      replica.items.store(replica.output.items(), std::memory_order_relaxed);
      if (replica.held) {
        replica.held = nullptr;
        node.input->processed(r);
      }
      return true;
    case Step::blocked:
      replica.blocked.store(replica.blocked.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return false;
    case Step::idle: return false;
    case Step::end: return drain(node, replica);
  }
  return false;
}

bool Runtime::may_drain(const Node& node) const {
  return !node.source && !node.finished.load(std::memory_order_relaxed) &&
         node.open_writers.load(std::memory_order_seq_cst) == 0 && node.input->empty();
}

// Each replica is drained by whoever holds its claim; the last one closes the node. In this order: drained, then
// finished, then one writer fewer for the readers; so a reader that sees no writer sees all that they ever pushed.
bool Runtime::drain(Node& node, Replica& replica) {
  if (!node.source && !may_drain(node)) return false;
  if (replica.drained) return false;
  replica.stuck = true;
  const Step step = replica.stage->finish(replica.output);
  replica.idle = step == Step::idle;
  if (step != Step::done) return false;
  replica.items.store(replica.output.items(), std::memory_order_relaxed);
  replica.drained = true;
  if (node.drained.fetch_add(1, std::memory_order_acq_rel) + 1 < node.replicas.size()) return true;
  node.finished.store(true, std::memory_order_release);
  for (Node* reader : node.readers) reader->open_writers.fetch_sub(1, std::memory_order_seq_cst);
  finished_.fetch_add(1, std::memory_order_seq_cst);
  doze_.notify_all();
  return true;
}

void Runtime::end_look(Look& look) {
  if (look == Look::searching) doze_.found();
  if (look == Look::last) doze_.cancel();
  look = Look::none;
}

// What a claim, a look around and two readings of the clock cost is shared by several small messages. A window is more
// than a burst by itself, so that the next stage has it while it is in cache.
bool Runtime::burst(Node& node, size_t r, Look& look) {
  Replica& replica = *node.replicas[r];
  const uint64_t before = cycles();
  bool worked = false;
  size_t items = 0;
  for (size_t messages = 0; messages < kBurstMessages && items < kBurstItems && take(node, r); ++messages) {
    if (!node.source && !replica.stuck) end_look(look);
    const uint64_t pushed = replica.output.items();
    const size_t taken = replica.held ? replica.held->items : 0;
    if (!go_on(node, r)) break;
    worked = true;
    items += std::max<size_t>(taken, replica.output.items() - pushed);
  }
  // Only a worker that goes to sleep after this has to be woken.
  if (!worked && replica.idle && look == Look::last)
    if (const int fd = replica.stage->wait_fd(); fd >= 0) doze_.watch_once(fd);
  replica.busy_cycles.store(replica.busy_cycles.load(std::memory_order_relaxed) + cycles() - before,
                            std::memory_order_relaxed);
  return worked;
}

// A search ends when work is claimed, not when it is done: a step may take a millisecond. But a source may have
// nothing, and a replica that was stuck may still be: that is found only when it comes forward. A worker would else
// never sleep.
bool Runtime::try_node(Node& node, size_t worker, int core, Look& look) {
  if (node.finished.load(std::memory_order_relaxed) || !node.runs_on(core)) return false;
  if (!node.source && node.input->empty() && !may_drain(node)) return false;
  const size_t replicas = node.replicas.size();
  for (size_t i = 0; i < replicas; ++i) {
    const size_t r = (worker + i) % replicas;
    Replica& replica = *node.replicas[r];
    if (!replica.claim()) continue;
    const bool worked = burst(node, r, look);
    replica.unclaim();
    if (!worked) continue;
    // Somebody may have looked while this replica was claimed, found nothing to do and gone to sleep.
    if (node.source || !node.input->empty() || may_drain(node)) doze_.notify();
    return true;
  }
  return false;
}

bool Runtime::try_all(size_t worker, int core, Look& look) {
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (!try_node(**node, worker, core, look)) continue;
    end_look(look);
    return true;
  }
  return false;
}

void Runtime::work(size_t worker) {
  int core = -1;
  if (!worker_cores_.empty()) {
    core = worker_cores_[worker];
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(core), &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  }
  pthread_setname_np(pthread_self(), ("worker " + std::to_string(worker)).substr(0, 15).c_str());
  std::atomic<uint64_t>& rounds = heartbeats_[worker].rounds;
  Look look = Look::none;
  bool by_clock = false;  // woken by no other worker, but by a source's descriptor, which may be a clock, or by none
  for (int spins = 0; !all_finished();) {
    rounds.store(rounds.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (try_all(worker, core, look)) {
      by_clock = false;
      continue;
    }
    if (look == Look::none) {
      doze_.search();
      look = Look::searching;
      spins = by_clock ? options_.spins : 0;  // a source that is only asked now and then has nothing: back to sleep
    }
    if (++spins <= options_.spins) {
      relax();
      continue;
    }
    spins = 0;
    if (!doze_.announce()) continue;
    look = Look::last;
    if (try_all(worker, core, look) || look == Look::none) continue;
    if (all_finished()) break;
    const uint64_t wakes = doze_.wakes();
    doze_.wait(worker, options_.sleep_ms);
    by_clock = doze_.wakes() == wakes;
    look = Look::none;
  }
  end_look(look);
  doze_.notify_all();
}

Expected<void> Runtime::run() {
  enum Gate { shut, open, never };
  std::atomic<int> gate{shut};
  std::vector<std::thread> threads;
  threads.reserve(workers_);
  std::string failed;
  try {
    for (size_t w = 0; w < workers_; ++w)
      threads.emplace_back([this, w, &gate] {
        gate.wait(shut);
        if (gate.load() == open) work(w);
      });
  } catch (const std::system_error& error) {
    failed = error.what();
  }
  gate = failed.empty() ? open : never;
  gate.notify_all();
  for (std::thread& thread : threads) thread.join();
  if (failed.empty()) return {};
  return failure("can't start " + std::to_string(workers_) + " workers: " + failed, "take fewer with --workers");
}

void Runtime::stop_sources() {
  stop_.store(true, std::memory_order_relaxed);
  doze_.notify_all();
}

void Runtime::wake() { doze_.notify_all(); }

std::vector<uint64_t> Runtime::rounds() const {
  std::vector<uint64_t> all;
  for (const Heartbeat& worker : heartbeats_) all.push_back(worker.rounds.load(std::memory_order_relaxed));
  return all;
}

size_t Runtime::numbers_alive() const {
  size_t alive = 0;
  for (const auto& domain : domains_) alive += domain->numbers.alive();
  return alive;
}

std::vector<StageCounters> Runtime::counters() const {
  std::vector<StageCounters> all;
  for (const auto& node : nodes_) {
    StageCounters stage{node->name, node->kind, {}, 0, 0, 0};
    for (const auto& replica : node->replicas)
      stage.replicas.push_back(
          {replica->messages.load(std::memory_order_relaxed), replica->items.load(std::memory_order_relaxed),
           replica->busy_cycles.load(std::memory_order_relaxed), replica->blocked.load(std::memory_order_relaxed)});
    if (node->input) {
      stage.queue_peak = node->input->peak();
      stage.lost = node->input->lost();
      stage.failed_pushes = node->input->failed_pushes();
    }
    all.push_back(std::move(stage));
  }
  return all;
}

}  // namespace trama
