// Sleeping and waking: descriptors, threads behind stages, and that nobody stays awake for nothing.
#include "engine/doze.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>

#include "tests/engine/pipeline_setup.hpp"
#include "tests/engine/small_stages.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe2(ends_, O_NONBLOCK | O_CLOEXEC), 0); }
  ~Pipe() {
    close(ends_[0]);
    hang_up();
  }
  int read_end() const { return ends_[0]; }
  void send(char byte) { EXPECT_EQ(write(ends_[1], &byte, 1), 1); }
  void hang_up() {
    if (ends_[1] >= 0) close(std::exchange(ends_[1], -1));
  }

 private:
  int ends_[2] = {-1, -1};
};

void fall_asleep(Doze& doze, size_t worker = 0) {
  doze.search();
  while (!doze.announce()) std::this_thread::yield();
  doze.wait(worker, -1);
}

TEST(Doze, OneLastLookAtATime) {
  Doze doze;
  doze.search();
  doze.search();
  EXPECT_TRUE(doze.announce());
  EXPECT_FALSE(doze.announce()) << "the first one is still looking";
  doze.cancel();
  EXPECT_TRUE(doze.announce());
  doze.cancel();
}

TEST(Doze, NobodyIsWokenWhileNobodySleepsOrSomebodySearches) {
  Doze doze;
  doze.notify();
  doze.notify_all();
  EXPECT_EQ(doze.wakes(), 0u);
  doze.search();
  doze.search();
  ASSERT_TRUE(doze.announce());
  doze.notify();
  EXPECT_EQ(doze.wakes(), 0u) << "the other one will find it";
  doze.found();
  EXPECT_EQ(doze.wakes(), 1u) << "the last searcher has found work and sends another one to search";
  doze.cancel();
}

TEST(Doze, ANotificationBetweenAnnouncementAndSleepIsNotLost) {
  Watchdog watchdog;
  Doze doze;
  doze.search();
  ASSERT_TRUE(doze.announce());
  doze.notify();
  doze.wait(0, -1);
}

TEST(Doze, NotifyAllWakesEverySleeper) {
  Watchdog watchdog;
  for (size_t seats : {1u, 4u})
    for (int round = 0; round < 50; ++round) {
      Doze doze(seats);
      std::atomic<int> asleep{0};
      std::vector<std::thread> sleepers;
      for (size_t worker = 0; worker < 4; ++worker)
        sleepers.emplace_back([&, worker] {
          doze.search();
          while (!doze.announce()) std::this_thread::yield();
          ++asleep;
          doze.wait(worker, -1);
        });
      while (asleep.load() < 4) std::this_thread::yield();
      doze.notify_all();
      for (auto& sleeper : sleepers) sleeper.join();
    }
}

TEST(Doze, AReadableDescriptorWakesOnceEachTimeItIsWatched) {
  Watchdog watchdog;
  for (size_t seats : {1u, 2u}) {
    Doze doze(seats);
    Pipe pipe;
    doze.watch_once(pipe.read_end());
    doze.watch_once(pipe.read_end());  // again is fine
    std::thread sender([&] { pipe.send('a'); });
    fall_asleep(doze);
    sender.join();
    doze.watch_once(pipe.read_end());  // it is still readable
    fall_asleep(doze);
    doze.search();
    ASSERT_TRUE(doze.announce());
    doze.wait(0, 0);  // not watched any more: this would return at once either way, but must not count as work
    EXPECT_EQ(doze.wakes(), 0u);
  }
}

TEST(Doze, ADescriptorThatHangsUpWakes) {
  Watchdog watchdog;
  Doze doze;
  Pipe pipe;
  doze.watch_once(pipe.read_end());
  std::thread sender([&] { pipe.hang_up(); });
  fall_asleep(doze);
  sender.join();
}

// A source on a pipe: a byte is a message, the end of the pipe the end of the source.
struct PipeService {
  Pipe pipe;
};
class PipeSource final : public Stage<void, Numbers> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "pipe", .summary = "bytes", .numbering = Numbering::opens};
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto service = context.services.get<PipeService>();
    return StageFactory([service](const ReplicaContext&) { return std::make_unique<PipeSource>(service); });
  }
  explicit PipeSource(std::shared_ptr<PipeService> service) : service_(std::move(service)) {}

  Step produce(Output<Numbers>& out) override {
    if (!message_) message_ = out.begin();
    if (!message_) return Step::blocked;
    char byte;
    const ssize_t got = read(wait_fd(), &byte, 1);
    if (got == 0) return Step::end;
    if (got < 0) return Step::idle;
    message_->items = 1;
    message_->value[0] = static_cast<uint32_t>(byte);
    out.push(std::exchange(message_, nullptr));
    return Step::done;
  }
  int wait_fd() const override { return service_->pipe.read_end(); }

 private:
  std::shared_ptr<PipeService> service_;
  Numbers* message_ = nullptr;
};

// Every byte is sent only when the one before has reached the sink, so that the engine is idle in between.
TEST(IdleSource, EachMessageArrivesAndTheEndIsTheEnd) {
  Watchdog watchdog;
  for (size_t workers : {1u, 3u}) {
    for (const bool stop : {false, true}) {
      GraphFixture graph;
      auto hooks = std::make_shared<Hooks>();
      auto service = std::make_shared<PipeService>();
      std::atomic<size_t> arrived{0};
      hooks->sinks["sink"] = [&](Message& in, OutputBase& out) {
        out.release(&in);
        ++arrived;
        return Step::done;
      };
      graph.services().add(hooks);
      graph.services().add(service);
      graph.add<PipeSource>("source");
      graph.add<PassStage>("pass", {.from = "source", .replicas = 2});
      graph.add<HookSink<>>("sink", {.from = "pass"});
      auto runtime = graph.make({.workers = workers, .batch_credits = 2});
      std::thread sender([&] {
        for (size_t sent = 0; sent < 50; ++sent) {
          while (arrived.load() < sent) std::this_thread::yield();
          service->pipe.send('x');
        }
        while (arrived.load() < 50) std::this_thread::yield();
        stop ? runtime->stop_sources() : service->pipe.hang_up();
      });
      runtime->run();
      sender.join();
      EXPECT_EQ(arrived.load(), 50u);
      EXPECT_EQ(runtime->numbers_alive(), 0u);
    }
  }
}

// A sink with a thread behind it, as one that writes to a disk has: it keeps messages, is blocked when it has too many,
// releases them from its thread, and is not drained before that one is done.
class Writer {
 public:
  Writer(EngineControl& control, std::vector<uint64_t>& written, std::function<void()> pause)
      : control_(control), written_(written), pause_(std::move(pause)), thread_([this] { write_all(); }) {}
  ~Writer() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  bool hand_over(Message& message, OutputBase& out) {
    std::lock_guard lock(mutex_);
    if (waiting_.size() == 2) return false;
    out_ = &out;
    waiting_.push_back(&message);
    changed_.notify_all();
    return true;
  }
  bool done() {
    std::lock_guard lock(mutex_);
    return waiting_.empty();
  }

 private:
  void write_all() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      Message* message = waiting_.front();
      OutputBase* out = out_;
      lock.unlock();
      pause_();
      written_.push_back(message->seq);
      out->release(message);
      lock.lock();
      waiting_.pop_front();
      lock.unlock();
      control_.wake();
      lock.lock();
    }
  }

  EngineControl& control_;
  std::vector<uint64_t>& written_;
  std::function<void()> pause_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message*> waiting_;
  OutputBase* out_ = nullptr;
  bool over_ = false;
  std::thread thread_;
};

struct WriterService {
  std::function<void()> pause = [] {};
  std::vector<uint64_t> written;
};
class WritingSink final : public Stage<Numbers, Nothing> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "writer", .summary = "has a thread behind it", .holds = 2};
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto service = context.services.get<WriterService>();
    return StageFactory(
        [service](const ReplicaContext& replica) { return std::make_unique<WritingSink>(replica.control, *service); });
  }
  WritingSink(EngineControl& control, WriterService& service) : writer_(control, service.written, service.pause) {}
  Step process(Numbers& in, Output<Nothing>& out) override {
    return writer_.hand_over(in, out) ? Step::done : Step::blocked;
  }
  Step drain(Output<Nothing>&) override { return writer_.done() ? Step::done : Step::blocked; }

 private:
  Writer writer_;
};

TEST(BackgroundSink, WritesEverythingInOrderBeforeTheGraphEnds) {
  Watchdog watchdog;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    GraphFixture graph;
    auto hooks = std::make_shared<Hooks>();
    auto service = std::make_shared<WriterService>();
    service->pause = [random = std::make_shared<Random>(seed)] {
      if ((*random)(4) == 0) std::this_thread::sleep_for(std::chrono::microseconds((*random)(300)));
    };
    graph.services().add(hooks);
    graph.services().add(service);
    graph.add<CountSource>("source");
    graph.add<WritingSink>("writer", {.from = "source"});
    graph.add<HookSink<>>("other", {.from = "source"});
    auto runtime = graph.make({.workers = 1 + seed % 4, .batch_credits = 3 + seed % 2});
    runtime->run();
    ASSERT_EQ(service->written.size(), hooks->messages);
    for (size_t i = 0; i < hooks->messages; ++i) ASSERT_EQ(service->written[i], i);
    ASSERT_EQ(hooks->seen["other"].size(), hooks->messages);
    ASSERT_EQ(runtime->numbers_alive(), 0u);
  }
}

// While everything waits for the writer, workers sleep: how often they look depends on how often they are woken, and
// not on how long it takes.
TEST(BackgroundSink, BlockedStagesLetWorkersSleep) {
  Watchdog watchdog;
  GraphFixture graph;
  auto hooks = std::make_shared<Hooks>();
  auto service = std::make_shared<WriterService>();
  hooks->messages = 12;
  service->pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); };
  graph.services().add(hooks);
  graph.services().add(service);
  graph.add<CountSource>("source");
  graph.add<WritingSink>("writer", {.from = "source"});
  FixturePlan plan;
  plan.workers = 3;
  plan.options.spins = 5;
  auto runtime = graph.make(plan);
  runtime->run();
  uint64_t looks = 0;
  for (const StageCounters& stage : runtime->counters())
    for (const ReplicaCounters& replica : stage.replicas) looks += replica.blocked;
  EXPECT_LT(looks, 12 * 3 * 2 * 20u);
  EXPECT_EQ(service->written.size(), hooks->messages);
}

}  // namespace
}  // namespace trama
