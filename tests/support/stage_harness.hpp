// Feeds messages to one stage and reads what it pushes, without threads.
//
//   StageHarness<PacketBatch, AddressBatch> harness("parse", "key = 1");
//   harness.services().add(...);                       // before the first message
//   PacketBatch* batch = harness.input();              // fill it
//   harness.push(batch);
//   while (AddressBatch* out = harness.next()) ...     // valid until the next call of next()
//   harness.finish();                                  // drains; then read what next() still has
//
// In = void tests a source: next() runs it as far as credits go. Out = Nothing tests a sink: there is no next(). A
// stage that takes any type is tested with In and Out the same. The stage comes from the registry, so that its file
// must be linked into the test; its parameters are the lines of its table in a graph file.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "engine/simulator.hpp"
#include "engine/toml_text.hpp"
#include "tests/support/graph_fixture.hpp"

namespace trama {

struct HarnessOptions {
  Sizes sizes{.batch_items = 64, .window_items = 256};
  size_t credits = 16;  // of every domain: how many messages may be on their way at once
  RetireObserver* observer = nullptr;
  const Registry* registry = &Registry::instance();
};

namespace harness_detail {

// The two ends of the stage, shared by the harness and the stages around the one that is tested.
template <class T>
struct Feed {
  Output<T>* out = nullptr;
  std::deque<T*> waiting;
  bool ended = false;
};
template <class T>
struct Collected {
  OutputBase* out = nullptr;
  std::deque<T*> waiting;
};

template <class T>
class Feeder final : public Stage<void, T> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "feeder", .summary = "hands on", .numbering = Numbering::opens};
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto feed = context.services.get<Feed<T>>();
    return StageFactory([feed](const ReplicaContext&) { return std::make_unique<Feeder>(feed); });
  }
  explicit Feeder(std::shared_ptr<Feed<T>> feed) : feed_(std::move(feed)) {}
  Step produce(Output<T>& out) override {
    feed_->out = &out;
    if (feed_->waiting.empty()) return feed_->ended ? Step::end : Step::idle;
    out.push(feed_->waiting.front());
    feed_->waiting.pop_front();
    return Step::done;
  }

 private:
  std::shared_ptr<Feed<T>> feed_;
};

template <class T>
class Collector final : public Stage<T, Nothing> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "collector", .summary = "keeps", .ordering = Ordering::preserves};
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto collected = context.services.get<Collected<T>>();
    return StageFactory([collected](const ReplicaContext&) { return std::make_unique<Collector>(collected); });
  }
  explicit Collector(std::shared_ptr<Collected<T>> collected) : collected_(std::move(collected)) {}
  Step process(T& in, Output<Nothing>& out) override {
    collected_->out = &out;
    collected_->waiting.push_back(&in);
    return Step::done;
  }

 private:
  std::shared_ptr<Collected<T>> collected_;
};

}  // namespace harness_detail

template <class In, class Out>
class StageHarness {
  static constexpr bool kSource = std::is_void_v<In>;
  static constexpr bool kSink = std::is_same_v<Out, Nothing>;
  using Feed = harness_detail::Feed<In>;
  using Collected = harness_detail::Collected<Out>;

 public:
  explicit StageHarness(const std::string& kind, const std::string& parameters = "", HarnessOptions options = {})
      : kind_(kind), text_(parameters), options_(options) {}

  // What the stage shares with others; before the first message.
  Services& services() { return graph_.services(); }

  // Sets the stage up; the first message does so too. What is wrong with its parameters or in its set-up; else nothing.
  Diagnostics start() {
    if (runtime_) return {};
    const StageKind* kind = options_.registry->find(kind_);
    if (!kind) return {{Severity::error, {}, "no stage of kind " + kind_ + " is linked into this test", ""}};
    auto parameters = table();
    if (!parameters) return {parameters.error()};
    if (Diagnostics wrong = kind->check(*parameters); !wrong.empty()) return wrong;
    std::string from;
    if constexpr (!kSource) {
      graph_.add<harness_detail::Feeder<In>>("feeder");
      from = "feeder";
      feed_ = services().template get<Feed>();
    }
    graph_.add_kind(kind_, *kind, {.from = from, .parameters = *parameters});
    if constexpr (!kSink) {
      graph_.add<harness_detail::Collector<Out>>("collector", {.from = kind_});
      collected_ = services().template get<Collected>();
    }
    auto runtime = graph_.try_make({.batch_credits = options_.credits,
                                    .window_credits = options_.credits,
                                    .sizes = options_.sizes,
                                    .observer = options_.observer});
    if (!runtime) return runtime.error();
    runtime_ = std::move(*runtime);
    if constexpr (!kSource) run();
    return {};
  }

  // A buffer to fill. Null, and a failed test, when the stage and the test hold all there are. One at a time.
  In* input() requires(!kSource) {
    if (!started()) return nullptr;
    In* message = feed_->out->begin();
    EXPECT_NE(message, nullptr) << "the stage and the test hold all " << options_.credits << " messages";
    return message;
  }
  void push(In* message) requires(!kSource) {
    feed_->waiting.push_back(message);
    run();
  }

  // The stage's next message, valid until the next call; null when it has none now.
  Out* next() requires(!kSink) {
    if (!started()) return nullptr;
    if (shown_) collected_->out->release(std::exchange(shown_, nullptr));
    run();
    if (collected_->waiting.empty()) return nullptr;
    shown_ = collected_->waiting.front();
    collected_->waiting.pop_front();
    return shown_;
  }

  // No more messages come (for a source: it is told to stop). A stage with a thread behind it gets ten seconds.
  void finish() {
    if (!started()) return;
    if constexpr (kSource)
      runtime_->stop_sources();
    else
      feed_->ended = true;
    run();
    if constexpr (kSink) {
      for (int i = 0; i < 10000 && !ended_; ++i, run()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_TRUE(ended_) << "the sink has not drained";
      EXPECT_EQ(runtime_->numbers_alive(), 0u);
    }
  }
  // Has everything been drained? After finish(), and after next() has given all there was.
  bool ended() const { return ended_; }
  Runtime& runtime() { return *runtime_; }

 private:
  bool started() {
    for (const Diagnostic& wrong : start()) ADD_FAILURE() << wrong.text << " (" << wrong.hint << ")";
    return runtime_ != nullptr;
  }
  void run() { ended_ = Simulator(*runtime_).run_until_quiet(); }

  Expected<ParameterTable> table() const {
    auto toml = read_toml(text_, "harness");
    if (!toml) return tl::unexpected(toml.error());
    ParameterTable table;
    for (size_t i = 0; i < toml->items.size(); ++i) {
      const TomlValue& value = toml->items[i];
      ParameterValue& parameter = table.values[toml->keys[i]];
      parameter.place = {"harness", value.line};
      switch (value.type) {
        case TomlValue::Type::flag: parameter.value = value.flag; break;
        case TomlValue::Type::integer: parameter.value = value.integer; break;
        case TomlValue::Type::number: parameter.value = value.number; break;
        case TomlValue::Type::text: parameter.value = value.text; break;
        case TomlValue::Type::list: {
          std::vector<std::string> texts;
          for (const TomlValue& item : value.items) texts.push_back(item.text);
          parameter.value = texts;
          break;
        }
        default: return failure("a stage has no parameter of such a type");
      }
    }
    return table;
  }

  std::string kind_, text_;
  HarnessOptions options_;
  GraphFixture graph_;
  std::shared_ptr<Feed> feed_;
  std::shared_ptr<Collected> collected_;
  std::unique_ptr<Runtime> runtime_;
  Out* shown_ = nullptr;
  bool ended_ = false;
};

}  // namespace trama
