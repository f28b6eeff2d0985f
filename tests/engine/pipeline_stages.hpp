// The stages of the test pipeline, pipeline.hpp.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "engine/reorder.hpp"
#include "engine/stage.hpp"
#include "tests/engine/pipeline_setup.hpp"

namespace trama {

// Makes a stage that is told of the run and of its replica: S(run, stage name, replica context).
template <class S>
Expected<StageFactory> with_run(const SetupContext& context) {
  auto run = context.services.get<PipelineRun>();
  return StageFactory([run, name = context.name](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
    return std::make_unique<S>(*run, name, replica);
  });
}
#define TRAMA_TEST_STAGE(Class)                                                        \
  using Parameters = NoParameters;                                                     \
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) { \
    return with_run<Class>(context);                                                   \
  }

class NumberSource final : public Stage<void, Numbers> {
 public:
  TRAMA_TEST_STAGE(NumberSource)
  static constexpr StageInfo kInfo{.kind = "numbers", .summary = "random values", .numbering = Numbering::opens};
  NumberSource(const PipelineRun& run, const std::string&, const ReplicaContext&)
      : data_(run.setup.seed * 77 + 13), left_(run.setup.batches), most_(run.setup.batch_most) {}

  Step produce(Output<Numbers>& out) override {
    if (left_ == 0) return Step::end;
    Numbers* batch = out.begin();
    if (!batch) return Step::blocked;
    --left_;
    batch->items = static_cast<uint32_t>(data_(most_ + 1));
    batch->skip = data_(8) == 0;
    for (uint32_t i = 0; i < batch->items; ++i) batch->value[i] = static_cast<uint32_t>(data_(1u << 30));
    out.push(batch);
    return Step::done;
  }

 private:
  Random data_;
  size_t left_, most_;
};

class ChooseStage final : public Stage<Numbers, Chosen>, Delayed {
 public:
  TRAMA_TEST_STAGE(ChooseStage)
  static constexpr StageInfo kInfo{.kind = "parse",
                                   .summary = "leaves some out",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};
  ChooseStage(const PipelineRun& run, const std::string& name, const ReplicaContext& context)
      : Delayed(run, name, context.replica) {}

  Step process(Numbers& in, Output<Chosen>& out) override {
    delay();
    Chosen* chosen = out.follow(in);
    for (uint32_t i = 0; i < in.items && !in.skip; ++i)
      if (in.value[i] % 5 != 0) chosen->value[chosen->items++] = in.value[i];
    out.release(&in);
    delay();
    out.push(chosen);
    return Step::done;
  }
};

class ReorderStage final : public Stage<Message, Message> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "reorder", .summary = "restores order", .ordering = Ordering::restores};
  ReorderStage(const Parameters&, const ReplicaContext& context) : buffer_(context.input_credits) {}

  Step process(Message& in, Output<Message>& out) override {
    buffer_.put(&in, [&out](Message* ready) { out.push(ready); });
    return Step::done;
  }

 private:
  ReorderBuffer buffer_;
};

class StampStage final : public Stage<Chosen, Heap> {
 public:
  TRAMA_TEST_STAGE(StampStage)
  static constexpr StageInfo kInfo{.kind = "stamp", .summary = "cuts windows", .numbering = Numbering::opens};
  StampStage(const PipelineRun& run, const std::string&, const ReplicaContext&) : size_(run.setup.window) {}

  Step process(Chosen& in, Output<Heap>& out) override {
    while (!in.skip && used_ < in.items) {
      if (!heap_) heap_ = out.begin();
      if (!heap_) return Step::blocked;
      while (used_ < in.items && heap_->items < size_) heap_->value[heap_->items++] = in.value[used_++];
      if (heap_->items == size_) out.push(std::exchange(heap_, nullptr));
    }
    used_ = 0;
    out.release(&in);
    return Step::done;
  }
  Step drain(Output<Heap>& out) override {
    if (heap_) out.push(std::exchange(heap_, nullptr));
    return Step::done;
  }

 private:
  size_t size_;
  uint32_t used_ = 0;  // of the batch at hand; survives a blocked step
  Heap* heap_ = nullptr;
};

class ScrambleStage final : public Stage<Heap, Heap>, Delayed {
 public:
  TRAMA_TEST_STAGE(ScrambleStage)
  static constexpr StageInfo kInfo{.kind = "scramble",
                                   .summary = "changes values where they are",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves,
                                   .changes_input = true};
  ScrambleStage(const PipelineRun& run, const std::string& name, const ReplicaContext& context)
      : Delayed(run, name, context.replica) {}

  Step process(Heap& in, Output<Heap>& out) override {
    delay();
    for (uint32_t i = 0; i < in.items; ++i) in.value[i] = in.value[i] * 2654435761u + 1;
    in.skip = in.skip || in.seq % 11 == 3;
    out.push(&in);
    return Step::done;
  }
};

class BuildStage final : public Stage<Heap, Built>, Delayed {
 public:
  TRAMA_TEST_STAGE(BuildStage)
  static constexpr StageInfo kInfo{.kind = "build",
                                   .summary = "another message",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};
  BuildStage(const PipelineRun& run, const std::string& name, const ReplicaContext& context)
      : Delayed(run, name, context.replica) {}

  Step process(Heap& in, Output<Built>& out) override {
    delay();
    Built* built = out.follow(in);
    built->items = in.items;
    for (uint32_t i = 0; i < in.items; ++i) built->value[i] = in.value[i] ^ static_cast<uint32_t>(in.seq);
    out.release(&in);
    delay();
    out.push(built);
    return Step::done;
  }
};

class SealStage final : public Stage<Built, Built>, Delayed {
 public:
  TRAMA_TEST_STAGE(SealStage)
  static constexpr StageInfo kInfo{.kind = "seal",
                                   .summary = "changes values where they are",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves,
                                   .changes_input = true};
  SealStage(const PipelineRun& run, const std::string& name, const ReplicaContext& context)
      : Delayed(run, name, context.replica),
        holds_(run.setup.route == Route::by_window && context.input_credits > context.replicas) {}

  Step process(Built& in, Output<Built>& out) override {
    delay();
    for (uint32_t i = 0; i < in.items; ++i) in.value[i] += i;
    Message* const ready = holds_ ? std::exchange(held_, &in) : &in;
    if (ready) out.push(ready);
    return Step::done;
  }
  Step drain(Output<Built>& out) override {
    if (held_) out.push(std::exchange(held_, nullptr));
    return Step::done;
  }

 private:
  // Keeps a message until its next one, which is certain to come (or the end) only where each replica has its own turn.
  bool holds_;
  Message* held_ = nullptr;
};

// Adds itself to the run's sinks when it is set up.
class RecordSink final : public Stage<Built, Nothing>, Delayed {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "record", .summary = "hashes what comes"};

  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    auto run = context.services.get<PipelineRun>();
    const size_t at = run->sinks.size();
    run->sinks.push_back({.name = context.name});
    return StageFactory([run, at](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<RecordSink>(*run, run->sinks[at], replica);
    });
  }
  RecordSink(const PipelineRun& run, SinkRecord& record, const ReplicaContext& context)
      : Delayed(run, record.name, context.replica), record_(record) {}

  Step process(Built& in, Output<Nothing>& out) override {
    delay();
    record_.in_order = record_.in_order && in.seq == record_.messages;
    ++record_.messages;
    mix(in.seq);
    mix(in.skip);
    for (uint32_t i = 0; i < in.items && !in.skip; ++i) mix(in.value[i]);
    out.release(&in);
    return Step::done;
  }

 private:
  void mix(uint64_t value) { record_.hash = (record_.hash ^ value) * 1099511628211u; }
  SinkRecord& record_;
};

}  // namespace trama
