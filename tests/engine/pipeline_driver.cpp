// Runs the pipeline of pipeline.hpp on schedules drawn from seeds, as a program of its own: tests/engine/mutants.py
// compiles it with engines that are broken on purpose.
//
//   pipeline_driver simulate|threads|stop|sleep RUNS [FIRST_SEED]
//
// sleep: workers that give up at once, so that they sleep and wake all the time.
// Five seconds without a run that ends are a stall.
// Exit status: 0 all runs were as they must be, 1 not; asserts abort.
#include <string>

#include "tests/engine/pipeline.hpp"
#include "tests/engine/small_stages.hpp"
#include "tests/engine/unordered_pipeline.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

enum class Mode { simulate, threads, stop, sleep };

// What is wrong; empty when nothing is.
std::string run_pipeline(const PipelineSetup& setup, Mode mode) {
  const SinkRecord expected = mode == Mode::stop ? SinkRecord{} : expected_output(setup);
  Pipeline pipeline(setup);
  if (mode == Mode::simulate) {
    if (!Simulator(pipeline.runtime()).run(setup.seed, setup.workers)) return "deadlock";
  } else {
    std::thread stopper([&] {
      if (mode != Mode::stop) return;
      std::this_thread::sleep_for(std::chrono::microseconds(Random(setup.seed)(3000)));
      pipeline.runtime().stop_sources();
    });
    pipeline.runtime().run();
    stopper.join();
  }
  if (const std::string rule = pipeline.broken_rule(); !rule.empty()) return rule;
  return mode == Mode::stop || pipeline.left() == expected ? "" : "another output";
}

// A reader that may lose and holds all its slots until the end, beside one that never loses.
std::string run_lossy(const PipelineSetup& setup, bool simulated) {
  auto hooks = std::make_shared<Hooks>();
  std::vector<Message*> kept;
  hooks->sinks["publish"] = [&](Message& in, OutputBase&) {
    kept.push_back(&in);
    return Step::done;
  };
  hooks->drains["publish"] = [&](OutputBase& out) {
    for (Message* message : kept) out.release(message);
    return Step::done;
  };
  GraphFixture graph;
  graph.services().add(hooks);
  graph.add<CountSource>("source");
  graph.add<CopyStage>("copy", {.from = "source", .replicas = setup.replicas});
  graph.add<PassStage>("pass", {.from = "copy"});
  graph.add<HookSink<>>("archive", {.from = "pass"});
  graph.add<HookSink<2>>("publish", {.from = "pass"});
  auto runtime = graph.make({.workers = setup.workers, .batch_credits = setup.batch_credits});
  if (!simulated)
    runtime->run();
  else if (!Simulator(*runtime).run(setup.seed, setup.workers))
    return "deadlock";
  if (runtime->numbers_alive() != 0) return "numbers are still alive";
  const uint64_t lost = runtime->counters().back().lost;
  if (kept.size() + lost != hooks->messages) return "losses are not what was lost";
  return hooks->seen["archive"].size() == hooks->messages ? "" : "a reader that never loses has lost";
}

std::string run_asleep(uint64_t seed) {
  Random random(seed);
  auto hooks = std::make_shared<Hooks>();
  hooks->messages = 10000;
  GraphFixture graph;
  graph.services().add(hooks);
  graph.add<CountSource>("source");
  graph.add<PassStage>("first", {.from = "source", .replicas = 1 + random(3)});
  graph.add<PassStage>("second", {.from = "first", .replicas = 1 + random(3)});
  graph.add<HookSink<>>("sink", {.from = "second"});
  FixturePlan plan;
  plan.workers = 2 + random(5);
  plan.batch_credits = 1 + random(3);
  plan.options.spins = static_cast<int>(random(3));
  graph.make(plan)->run();
  return hooks->seen["sink"].size() == hooks->messages ? "" : "messages are missing";
}

std::string run_once(uint64_t seed, Mode mode) {
  if (mode == Mode::sleep) return run_asleep(seed);
  PipelineSetup setup = draw_setup(seed);
  setup.delays = mode != Mode::simulate;
  uint64_t sum = 0;
  if (const std::string wrong = run_unordered(setup, mode == Mode::simulate, sum); !wrong.empty()) return wrong;
  if (sum != expected_sum(setup)) return "another sum";
  if (const std::string wrong = run_lossy(setup, mode == Mode::simulate); !wrong.empty()) return wrong;
  if (mode == Mode::stop) setup.batches = size_t{1} << 40;
  return run_pipeline(setup, mode);
}

}  // namespace
}  // namespace trama

int main(int argc, char** argv) {
  using namespace trama;
  if (argc < 3) return 2;
  const std::string name = argv[1];
  const Mode mode = name == "simulate" ? Mode::simulate
                    : name == "stop"   ? Mode::stop
                    : name == "sleep"  ? Mode::sleep
                                       : Mode::threads;
  const uint64_t runs = std::strtoull(argv[2], nullptr, 10);
  const uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  Watchdog watchdog(std::chrono::seconds(5));
  for (uint64_t seed = first; seed < first + runs; ++seed) {
    watchdog.begins(seed);
    if (const std::string wrong = run_once(seed, mode); !wrong.empty()) {
      std::fprintf(stderr, "FAIL seed %llu: %s\n", static_cast<unsigned long long>(seed), wrong.c_str());
      return 1;
    }
  }
  return 0;
}
