// The contract between a stage and the engine.
//
// A stage is one small file that derives from Stage<In, Out>, says what it is in a StageInfo, and ends with
// REGISTER_STAGE (registry.hpp). modules/pass.cpp is the one to copy.
//
// Who may call what:
// * The engine calls process(), produce() and drain() of one replica from one worker at a time; the worker may differ
//   from call to call. A replica's members need no lock. What replicas share is shared_ptr<const T>.
// * A stage calls its Output from inside those three. release() alone may also be called from a thread that the stage
//   keeps behind itself.
// * After start a stage allocates nothing, logs nothing and never waits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "engine/output.hpp"

namespace trama {

enum class Parallelism {
  serial,      // one replica: it sees every message
  replicated,  // any number of replicas: each message is seen by one of them, in any order
};

enum class Ordering {
  preserves,  // indifferent to order; with one replica it keeps it, with more it breaks it (the safe answer)
  needs,      // must see messages in the order of their numbers
  restores,   // takes any order and gives that of the numbers
};

enum class Numbering {
  follows,  // every message taken becomes exactly one message of the same number (or, in a sink, none)
  opens,    // makes messages of its own numbers: a source, or the stage that cuts batches into windows; of these only a
            // source may have replicas, and its messages are numbered as they are pushed
};

// What one call of a stage came to.
enum class Step {
  done,     // the input was pushed on or released; a source came forward
  blocked,  // no credit: the engine comes back with the same input, and the stage has kept its place in it
  idle,     // a source has no data yet: workers may sleep until wait_fd() is readable
  end,      // a source has come to its end
};

struct StageInfo {
  std::string_view kind;     // the name in graph files
  std::string_view summary;  // one line for the catalogue
  Parallelism parallelism = Parallelism::serial;
  Ordering ordering = Ordering::needs;
  Numbering numbering = Numbering::follows;
  bool changes_input = false;  // writes into a message that it passes on: refused where others read the same message
  size_t holds = 0;            // messages it keeps across steps until later ones arrive
  size_t may_lose = 0;         // a sink with slots of its own: when all are taken, messages pass it by and are counted
};

// The running engine as seen by a stage. Any thread.
class EngineControl {
 public:
  virtual ~EngineControl() = default;
  virtual void wake() = 0;          // something that a blocked stage waited for has happened
  virtual void stop_sources() = 0;  // finish what was received, then end
};

// What a replica is told when it is made.
struct ReplicaContext {
  size_t replica = 0;
  size_t replicas = 1;
  size_t input_credits = 0;  // C of the domain it reads from; 0 for a source
  size_t most_held = 0;      // messages that it can hold at once: C, or the slots of a reader that may lose
  Sizes sizes;
  EngineControl& control;
};

class StageBase {
 public:
  virtual ~StageBase() = default;
  virtual Step step(Message* in, OutputBase& out) = 0;
  virtual Step finish(OutputBase& out) = 0;
  // The descriptor an idle source waits for; -1: the source calls EngineControl::wake() itself.
  virtual int wait_fd() const { return -1; }
};
using StageFactory = std::function<std::unique_ptr<StageBase>(const ReplicaContext&)>;

// In and Out are message types. Stage<Message, Message> takes any type and passes the same messages on; so does a stage
// whose In and Out are the same, unless it opens a domain. All others make buffers of their own with begin() or
// follow().
template <class In, class Out>
class Stage : public StageBase {
 public:
  using Input = In;
  using OutputType = Out;

  // Owns `in` until it returns done. By then it has pushed `in` itself, or made a message that follows it, released
  // `in` and only then pushed the other (once that is pushed its number may end, and a buffer must be back before its
  // number ends), or, in a sink and in a stage that opens a domain, released `in`.
  virtual Step process(In& in, Output<Out>& out) = 0;
  // Called after the last input, again and again until it returns done: pushes what is held back. blocked: not yet.
  virtual Step drain(Output<Out>&) { return Step::done; }

  Step step(Message* in, OutputBase& out) final {
    return process(static_cast<In&>(*in), static_cast<Output<Out>&>(out));
  }
  Step finish(OutputBase& out) final { return drain(static_cast<Output<Out>&>(out)); }
};

// A source.
template <class Out>
class Stage<void, Out> : public StageBase {
 public:
  using Input = void;
  using OutputType = Out;

  virtual Step produce(Output<Out>& out) = 0;
  // Called at the end or when the engine is told to stop, again and again until it returns done: pushes what was
  // received. blocked: no credit; idle: waits for wait_fd().
  virtual Step drain(Output<Out>&) { return Step::done; }

  Step step(Message*, OutputBase& out) final { return produce(static_cast<Output<Out>&>(out)); }
  Step finish(OutputBase& out) final { return drain(static_cast<Output<Out>&>(out)); }
};

// The output type of a sink: it releases what it takes and pushes nothing.
struct Nothing : Message {
  static constexpr const char* kName = "nothing";
};

}  // namespace trama
