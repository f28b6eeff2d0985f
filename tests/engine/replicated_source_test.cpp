// A source with replicas: messages are numbered as they are pushed, each replica ends by itself, and one without data
// holds up nobody.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/check.hpp"
#include "tests/engine/small_stages.hpp"
#include "tests/support/long_tests.hpp"

namespace trama {
namespace {

// A service: what the replicas are to make, and whether one of them never gets data.
struct Lines {
  size_t replicas = 1;
  size_t messages = 50;  // of each
  uint64_t seed = 1;
  bool one_is_silent = false;  // the last one: it takes a credit and waits with it until it is stopped
  std::atomic<size_t> drained{0};
};

// Waits at random, with and without a credit in its hands, as a source does whose data doesn't come.
class LineSource final : public Stage<void, Numbers> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "lines",
                                   .summary = "numbered messages of several lines",
                                   .parallelism = Parallelism::replicated,
                                   .numbering = Numbering::opens};
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto lines = context.services.get<Lines>();
    return StageFactory([lines](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<LineSource>(*lines, replica);
    });
  }
  LineSource(Lines& lines, const ReplicaContext& context)
      : lines_(lines),
        control_(context.control),
        replica_(static_cast<uint32_t>(context.replica)),
        left_(lines.messages),
        random_(lines.seed * 31 + replica_) {}

  Step produce(Output<Numbers>& out) override {
    EXPECT_FALSE(ended_) << "asked again after its end";
    if (!message_ && random_(2) == 0 && !(message_ = out.begin())) return Step::blocked;
    if (lines_.one_is_silent && replica_ + 1 == lines_.replicas) return Step::idle;
    if (random_(3) == 0) {
      control_.wake();  // what an idle source without a descriptor does
      return Step::idle;
    }
    if (left_ == 0) {
      ended_ = true;
      return Step::end;
    }
    if (!message_ && !(message_ = out.begin())) return Step::blocked;
    push(out);
    return Step::done;
  }
  // What came too late for produce() goes on as well.
  Step drain(Output<Numbers>& out) override {
    ended_ = true;
    if (left_ > 0 && !lines_.one_is_silent) {
      if (!message_ && !(message_ = out.begin())) return Step::blocked;
      push(out);
      control_.wake();
      return Step::idle;
    }
    ++lines_.drained;
    return Step::done;
  }

 private:
  void push(Output<Numbers>& out) {
    message_->value[0] = replica_ << 16 | static_cast<uint32_t>(lines_.messages - left_);
    message_->items = 1;
    --left_;
    out.push(std::exchange(message_, nullptr));
  }

  Lines& lines_;
  EngineControl& control_;
  const uint32_t replica_;
  size_t left_;
  Random random_;
  Numbers* message_ = nullptr;
  bool ended_ = false;
};

// lines xR -> copy xN -> in_order -> sink; checks what the sink sees.
class Lined {
 public:
  explicit Lined(uint64_t seed) : lines_(std::make_shared<Lines>()), hooks_(std::make_shared<Hooks>()) {
    Random random(seed);
    lines_->seed = seed;
    lines_->replicas = 1 + random(5);
    credits = lines_->replicas + random(6);
    workers = 1 + random(4);
    copies_ = 1 + random(3);
  }
  Lines& lines() { return *lines_; }

  std::unique_ptr<Runtime> make() {
    hooks_->sinks["sink"] = [this](Message& in, OutputBase& out) {
      const uint32_t value = static_cast<Chosen&>(in).value[0];
      in_order_ = in_order_ && in.seq == count_ && (value & 0xffff) == next_[value >> 16];
      ++next_[value >> 16];
      ++count_;
      if (at_message) at_message(count_);
      out.release(&in);
      return Step::done;
    };
    next_.resize(lines_->replicas);
    graph_.services().add(hooks_);
    graph_.services().add(lines_);
    graph_.add<LineSource>("lines", {.replicas = lines_->replicas});
    graph_.add<CopyStage>("copy", {.from = "lines", .replicas = copies_});
    graph_.add<ReorderStage>("in_order", {.from = "copy"});
    graph_.add<HookSink<>>("sink", {.from = "in_order"});
    return graph_.make({.workers = workers, .batch_credits = credits});
  }
  void expect_all(const Runtime& runtime, size_t messages) const {
    EXPECT_EQ(count_, messages);
    EXPECT_TRUE(in_order_) << "a number is missing or twice, or a replica's messages changed places";
    EXPECT_EQ(lines_->drained.load(), lines_->replicas);
    EXPECT_EQ(runtime.numbers_alive(), 0u);
    for (const StageCounters& stage : runtime.counters()) EXPECT_EQ(stage.failed_pushes, 0u) << stage.name;
  }

  size_t credits, workers;
  std::function<void(size_t)> at_message;

 private:
  std::shared_ptr<Lines> lines_;
  std::shared_ptr<Hooks> hooks_;
  GraphFixture graph_;
  size_t copies_;
  std::vector<uint32_t> next_;
  size_t count_ = 0;
  bool in_order_ = true;
};

TEST(ReplicatedSource, EverySimulatedScheduleGivesEachMessageOneNumber) {
  const uint64_t count = runs(400, 10000);
  for (uint64_t seed = 1; seed <= count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Lined lined(seed);
    auto runtime = lined.make();
    ASSERT_TRUE(Simulator(*runtime).run(seed, lined.workers)) << "deadlock";
    lined.expect_all(*runtime, lined.lines().replicas * lined.lines().messages);
  }
}

TEST(ReplicatedSource, ThreadsGiveEachMessageOneNumber) {
  const uint64_t count = runs(60, 2000);
  for (uint64_t seed = 1; seed <= count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Lined lined(seed);
    auto runtime = lined.make();
    ASSERT_TRUE(runtime->run().has_value());
    lined.expect_all(*runtime, lined.lines().replicas * lined.lines().messages);
  }
}

// The silent replica keeps a credit all the time. The others come to all their messages, and only then the run is
// stopped.
TEST(ReplicatedSource, AReplicaWithoutDataHoldsUpNobody) {
  for (uint64_t seed = 1; seed <= 100 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Lined lined(seed);
    lined.lines().one_is_silent = true;
    lined.lines().replicas = std::max<size_t>(2, lined.lines().replicas);
    lined.credits = lined.lines().replicas;  // as few as the checker allows
    auto runtime = lined.make();
    const size_t all = (lined.lines().replicas - 1) * lined.lines().messages;
    lined.at_message = [&](size_t count) {
      if (count == all) runtime->stop_sources();
    };
    ASSERT_TRUE(Simulator(*runtime).run(seed, lined.workers)) << "deadlock";
    lined.expect_all(*runtime, all);
  }
}

TEST(ReplicatedSource, WhatWasReceivedComesOutWhenItIsStopped) {
  for (uint64_t seed = 1; seed <= 100 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Lined lined(seed);
    auto runtime = lined.make();
    lined.at_message = [&](size_t count) {
      if (count == seed % 40 + 1) runtime->stop_sources();
    };
    ASSERT_TRUE(Simulator(*runtime).run(seed, lined.workers)) << "deadlock";
    lined.expect_all(*runtime, lined.lines().replicas * lined.lines().messages);
  }
}

// The checker on such graphs; the stages are never made.
class ReplicatedSourceCheck : public testing::Test {
 protected:
  ReplicatedSourceCheck() {
    registry_.add(describe<LineSource>());
    registry_.add(describe<CopyStage>());
    registry_.add(describe<ReorderStage>());
    registry_.add(describe<StampStage>());
    registry_.add(describe<HookSink<>>());
  }
  tl::expected<CheckedGraph, Diagnostics> check_links(const std::string& links, const std::string& more = "") {
    const auto spec =
        parse_graph("[graph]\nlinks = [\"" + links + "\"]\n" + more + "[stages.lines]\nreplicas = 3\n", "lines.toml");
    EXPECT_TRUE(spec.has_value()) << spec.error().front().text;
    return check(*spec, registry_);
  }
  static std::string error_of(const tl::expected<CheckedGraph, Diagnostics>& graph) {
    return graph ? "" : graph.error().front().text;
  }

 private:
  Registry registry_;
};

TEST_F(ReplicatedSourceCheck, ItBreaksTheOrderOfWhatItPushes) {
  EXPECT_EQ(error_of(check_links("lines -> copy -> stamp -> hook")),
            "`stamp` needs messages in order, but the 3 replicas of `lines` break it");
  EXPECT_EQ(error_of(check_links("lines -> copy -> reorder -> stamp -> hook")), "");
}

TEST_F(ReplicatedSourceCheck, EachReplicaMayKeepACredit) {
  const auto graph = check_links("lines -> copy -> reorder -> stamp -> hook");
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(graph->domains[0].holds, 2u);
  EXPECT_EQ(error_of(check_links("lines -> copy -> reorder -> stamp -> hook", "batch_credits = 3\n")), "");
  EXPECT_EQ(error_of(check_links("lines -> copy -> reorder -> stamp -> hook", "batch_credits = 2\n")),
            "too few credits: `batch_credits` is 2, but 2 messages are kept across steps by `lines`");
}

}  // namespace
}  // namespace trama
