#include "control/run_service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "tests/control/notify_socket.hpp"
#include "tests/engine/small_stages.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

using test::NotifySocket;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr int64_t kHourNs = 3'600'000'000'000;

// An endless graph of two workers, whose sink can be held up.
class RunningGraph {
 public:
  RunningGraph() {
    hooks_->messages = SIZE_MAX;
    hooks_->sinks["sink"] = [this](Message& in, OutputBase& out) {
      if (held_) {
        holding_ = true;
        holding_.notify_all();
        held_.wait(true);
      }
      out.release(&in);
      return Step::done;
    };
    graph_.services().add(hooks_);
    graph_.add<CountSource>("source");
    graph_.add<HookSink<>>("sink", {.from = "source"});
    FixturePlan plan;
    plan.workers = 2;
    plan.options.sleep_ms = 1;
    runtime_ = graph_.make(plan);
  }
  ~RunningGraph() {
    go_on();
    if (thread_.joinable()) stop();
  }
  void start() {
    thread_ = std::thread([this] { runtime_->run(); });
  }
  void stop() {
    runtime_->stop_sources();
    thread_.join();
  }
  void hold_up() {
    held_ = true;
    holding_.wait(false);
  }
  void go_on() {
    held_ = false;
    held_.notify_all();
  }
  const Runtime& runtime() const { return *runtime_; }

 private:
  std::shared_ptr<Hooks> hooks_ = std::make_shared<Hooks>();
  GraphFixture graph_;
  std::unique_ptr<Runtime> runtime_;
  std::atomic<bool> held_{false}, holding_{false};
  std::thread thread_;
};

// A run as it is told to a service manager; its clock goes by the hour.
struct Told {
  explicit Told(const Runtime& runtime) : service(manager, runtime, [this] { return status; }) {}
  void tick(bool stopping = false) { service.tick(now_ns += kHourNs, stopping); }
  // Ticks until something like this was said; that, and what was said before it in the same look.
  std::vector<std::string> tick_until(const NotifySocket& socket, const std::string& line) {
    for (;;) {
      tick();
      auto said = socket.said();
      for (const std::string& text : said)
        if (text.starts_with(line)) return said;
      std::this_thread::yield();
    }
  }
  ServiceManager manager;
  EngineStatus status;
  RunService service;
  int64_t now_ns = 0;
};

TEST(RunService, IsReadyWhenAllWorkersAreAtWork) {
  Watchdog watchdog;
  const NotifySocket socket;
  RunningGraph graph;
  Told told(graph.runtime());
  EXPECT_LT(told.service.tick_ms(), 100);  // somebody waits
  told.tick();
  EXPECT_THAT(socket.said(), IsEmpty());
  graph.start();
  EXPECT_THAT(told.tick_until(socket, "READY=1").front(), HasSubstr("STATUS="));
  EXPECT_GE(told.service.tick_ms(), 100);
}

TEST(RunService, FeedsTheWatchdogOnlyWhileEveryWorkerMoves) {
  Watchdog watchdog;
  const NotifySocket socket("1000000");
  RunningGraph graph;
  graph.start();
  Told told(graph.runtime());
  told.tick_until(socket, "WATCHDOG=1");
  told.tick_until(socket, "WATCHDOG=1");
  graph.hold_up();
  // Before that the worker may have moved since it was looked at last: once.
  size_t fed = 0;
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the other worker goes on looking
    told.tick();
    for (const std::string& text : socket.said()) fed += text == "WATCHDOG=1";
  }
  EXPECT_LE(fed, 1u);
  graph.go_on();
  told.tick_until(socket, "WATCHDOG=1");
}

TEST(RunService, FeedsNoMoreOftenThanIsOfUse) {
  Watchdog watchdog;
  const NotifySocket socket("60000000");
  RunningGraph graph;
  graph.start();
  Told told(graph.runtime());
  told.tick_until(socket, "WATCHDOG=1");
  for (int i = 0; i < 14; ++i) told.service.tick(told.now_ns += 1'000'000'000, false);
  EXPECT_THAT(socket.said(), Not(Contains("WATCHDOG=1")));
}

TEST(RunService, NobodyIsToldWithoutAWatchdogThatItLives) {
  Watchdog watchdog;
  const NotifySocket socket;
  RunningGraph graph;
  graph.start();
  Told told(graph.runtime());
  told.tick_until(socket, "READY=1");
  told.tick();
  EXPECT_THAT(socket.said(), Not(Contains("WATCHDOG=1")));
}

TEST(RunService, SaysRates) {
  Watchdog watchdog;
  const NotifySocket socket;
  RunningGraph graph;
  graph.start();
  Told told(graph.runtime());
  told.tick_until(socket, "READY=1");
  told.status.packets_read = 3600 * 1500;
  told.status.tally.full_windows = 2;
  told.status.tally.dropped_kernel = 3;
  told.status.tally.dropped_ring = 4;
  told.tick();
  EXPECT_THAT(socket.said(), ElementsAre("STATUS=1.50 k packets/s, 2 windows, 7 dropped"));
  told.tick();
  EXPECT_THAT(socket.said(), ElementsAre("STATUS=0 packets/s, 2 windows, 7 dropped"));
}

TEST(RunService, ReloadsAndStops) {
  Watchdog watchdog;
  const NotifySocket socket;
  RunningGraph graph;
  graph.start();
  Told told(graph.runtime());
  told.service.reloads();
  EXPECT_THAT(socket.said(), IsEmpty());  // it is not ready yet
  told.tick_until(socket, "READY=1");
  told.service.reloads();
  told.service.has_reloaded();
  EXPECT_THAT(socket.said(), ElementsAre(StartsWith("RELOADING=1\nMONOTONIC_USEC="), "READY=1"));
  told.tick(true);
  told.tick(true);
  told.service.reloads();
  told.service.has_reloaded();
  graph.stop();
  told.service.ended();
  EXPECT_THAT(socket.said(), ElementsAre(StartsWith("STOPPING=1\n")));
}

TEST(RunService, AShortRunIsReadyAndStopsToo) {
  const NotifySocket socket;
  RunningGraph graph;
  Told told(graph.runtime());
  told.service.ended();
  EXPECT_THAT(socket.said(), ElementsAre(StartsWith("READY=1"), "STOPPING=1"));
}

TEST(RunService, WithoutAServiceManagerNothingIsAsked) {
  RunningGraph graph;
  ServiceManager manager;
  RunService service(manager, graph.runtime(), []() -> EngineStatus { throw std::logic_error("asked"); });
  EXPECT_FALSE(manager.present());
  for (int64_t hour = 1; hour < 5; ++hour) service.tick(hour * kHourNs, false);
  service.reloads();
  service.has_reloaded();
  service.ended();
}

TEST(Journal, IsTheFileThatTheVariableNames) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  struct stat status {};
  ASSERT_EQ(fstat(ends[1], &status), 0);
  const std::string right = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  for (const auto& [value, is] : {std::pair<std::string, bool>{right, true},
                                  {std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino + 1), false},
                                  {std::to_string(status.st_dev + 1) + ":" + std::to_string(status.st_ino), false},
                                  {right + " ", false},
                                  {std::to_string(status.st_dev), false},
                                  {"", false},
                                  {":", false}}) {
    setenv("JOURNAL_STREAM", value.c_str(), 1);
    EXPECT_EQ(is_journal(ends[1]), is) << value;
  }
  unsetenv("JOURNAL_STREAM");
  EXPECT_FALSE(is_journal(ends[1]));
  close(ends[0]);
  close(ends[1]);
}

TEST(Journal, EachLineHasItsLevel) {
  EXPECT_EQ(with_journal_level("a\n  b\n", Severity::error), "<3>a\n<3>  b\n");
  EXPECT_EQ(with_journal_level("a", Severity::warning), "<4>a");
  EXPECT_EQ(with_journal_level("\n", Severity::note), "<6>\n");
  EXPECT_EQ(with_journal_level("", Severity::note), "");
}

}  // namespace
}  // namespace trama
