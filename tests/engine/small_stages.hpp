// Stages whose behaviour a test gives them: for graphs smaller than the pipeline of pipeline.hpp.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/pipeline.hpp"

namespace trama {

using SinkHook = std::function<Step(Message&, OutputBase&)>;
using DrainHook = std::function<Step(OutputBase&)>;

// A service: what the test wants, and what the sinks have seen. Hooks of serial stages need no lock.
struct Hooks {
  size_t messages = 100;                  // that the source makes
  std::function<void()> first;            // called before the first of them
  std::map<std::string, SinkHook> sinks;  // by stage; a sink without a hook notes the number and releases
  std::map<std::string, DrainHook> drains;
  std::map<std::string, std::vector<uint64_t>> seen;  // numbers, by stage; by "stage/replica" where there are several
};

class CountSource final : public Stage<void, Numbers> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "count", .summary = "numbered messages", .numbering = Numbering::opens};
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto hooks = context.services.get<Hooks>();
    return StageFactory([hooks](const ReplicaContext&) { return std::make_unique<CountSource>(*hooks); });
  }
  explicit CountSource(const Hooks& hooks) : hooks_(hooks) {}

  Step produce(Output<Numbers>& out) override {
    if (made_ == hooks_.messages) return Step::end;
    Numbers* message = out.begin();
    if (!message) return Step::blocked;
    if (made_ == 0 && hooks_.first) hooks_.first();
    message->value[0] = static_cast<uint32_t>(made_++) * 3 + 1;
    message->items = 1;
    out.push(message);
    return Step::done;
  }

 private:
  const Hooks& hooks_;
  size_t made_ = 0;
};

class PassStage final : public Stage<Message, Message> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{
      .kind = "pass", .summary = "hands on", .parallelism = Parallelism::replicated, .ordering = Ordering::preserves};
  PassStage(const Parameters&, const ReplicaContext&) {}
  Step process(Message& in, Output<Message>& out) override {
    out.push(&in);
    return Step::done;
  }
};

class CopyStage final : public Stage<Numbers, Chosen> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "copy",
                                   .summary = "another buffer",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};
  CopyStage(const Parameters&, const ReplicaContext&) {}
  Step process(Numbers& in, Output<Chosen>& out) override {
    Chosen* copy = out.follow(in);
    copy->items = in.items;
    copy->value[0] = in.value[0];
    out.release(&in);
    out.push(copy);
    return Step::done;
  }
};

// Takes any type. Notes the numbers it sees, or does what its hook says.
template <size_t kMayLose = 0, Parallelism kParallelism = Parallelism::serial>
class HookSink final : public Stage<Message, Nothing> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "hook",
                                   .summary = "does what the test says",
                                   .parallelism = kParallelism,
                                   .ordering = Ordering::preserves,
                                   .may_lose = kMayLose};
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto hooks = context.services.get<Hooks>();
    return StageFactory([hooks, name = context.name](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      const std::string own = replica.replicas == 1 ? name : name + "/" + std::to_string(replica.replica);
      return std::make_unique<HookSink>(hooks->sinks[name], hooks->drains[name], hooks->seen[own]);
    });
  }
  HookSink(const SinkHook& hook, const DrainHook& drain, std::vector<uint64_t>& seen)
      : hook_(hook), drain_(drain), seen_(seen) {}

  Step process(Message& in, Output<Nothing>& out) override {
    if (hook_) return hook_(in, out);
    seen_.push_back(in.seq);
    out.release(&in);
    return Step::done;
  }
  Step drain(Output<Nothing>& out) override { return drain_ ? drain_(out) : Step::done; }

 private:
  const SinkHook& hook_;
  const DrainHook& drain_;
  std::vector<uint64_t>& seen_;
};

}  // namespace trama
