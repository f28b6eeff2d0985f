// How often workers look around: what a watchdog looks at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/engine/small_stages.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

TEST(Rounds, GrowForEveryWorkerButTheOneThatIsStuckInAStage) {
  Watchdog watchdog;
  constexpr size_t kWorkers = 4;
  std::atomic<bool> stuck{false}, free{false};
  GraphFixture graph;
  auto hooks = std::make_shared<Hooks>();
  hooks->messages = 1;
  hooks->sinks["sink"] = [&](Message& in, OutputBase& out) {
    stuck = true;
    stuck.notify_all();
    free.wait(false);
    out.release(&in);
    return Step::done;
  };
  graph.services().add(hooks);
  graph.add<CountSource>("source");
  graph.add<HookSink<>>("sink", {.from = "source"});
  FixturePlan plan;
  plan.workers = kWorkers;
  plan.options.sleep_ms = 1;  // they have nothing to do and sleep, but not for ever
  auto runtime = graph.make(plan);
  EXPECT_THAT(runtime->rounds(), testing::ElementsAre(0, 0, 0, 0));

  std::thread run([&] { runtime->run(); });
  stuck.wait(false);
  const auto moved_since = [&](const std::vector<uint64_t>& before) {
    const std::vector<uint64_t> now = runtime->rounds();
    size_t moved = 0;
    for (size_t worker = 0; worker < kWorkers; ++worker) moved += now[worker] != before[worker];
    return moved;
  };
  for (int i = 0; i < 3; ++i) {
    const std::vector<uint64_t> before = runtime->rounds();
    while (moved_since(before) < kWorkers - 1) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    EXPECT_EQ(moved_since(before), kWorkers - 1);
  }
  free = true;
  free.notify_all();
  run.join();
}

}  // namespace
}  // namespace trama
