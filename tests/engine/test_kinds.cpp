#include "tests/engine/test_kinds.hpp"

namespace trama {
namespace {

struct Number : Message {
  static constexpr const char* kName = "Number";
  explicit Number(const Sizes&) {}
};
struct Span : Message {
  static constexpr const char* kName = "Span";
  explicit Span(const Sizes&) {}
};
struct Result : Message {
  static constexpr const char* kName = "Result";
  explicit Result(const Sizes&) {}
};

enum class Unit { metres, seconds };

struct Numbers : Stage<void, Number> {
  struct Parameters {
    std::vector<std::string> files;
    Unit unit = Unit::metres;
    uint64_t most = 10;
    double wait_s = 0.5;
    bool loop = false;
    void bind(ParameterBinder& b) {
      b.texts("files", files, "what to read");
      b.choice("unit", unit, {{"m", Unit::metres}, {"s", Unit::seconds}}, "what they count");
      b.integer("most", most, 1, 1000, "how many");
      b.seconds("wait", wait_s, 0, 60, "how long between two");
      b.flag("loop", loop, "begin again at the end");
    }
  };
  static constexpr StageInfo kInfo{.kind = "numbers", .summary = "a source", .numbering = Numbering::opens};
  Numbers(const Parameters&, const ReplicaContext&) {}
  Step produce(Output<Number>&) override { return Step::end; }
};

// A stage that is only a declaration.
template <class In, class Out, const StageInfo& kDeclared>
struct Declared : Stage<In, Out> {
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo = kDeclared;
  Declared(const Parameters&, const ReplicaContext&) {}
  Step process(In&, Output<Out>&) override { return Step::done; }
};

constexpr auto kReplicated = Parallelism::replicated;
constexpr auto kSerial = Parallelism::serial;
constexpr StageInfo kHalf{"half", "a half", kReplicated, Ordering::preserves, Numbering::follows, true};
constexpr StageInfo kSame{"same", "the same", kReplicated, Ordering::preserves};
constexpr StageInfo kLook{"look", "a look", kSerial, Ordering::preserves};
constexpr StageInfo kReorder{"reorder", "in order", kSerial, Ordering::restores};
constexpr StageInfo kMerge{"merge", "a merge", kSerial, Ordering::needs, Numbering::follows, false, 3};
constexpr StageInfo kCut{"cut", "into spans", kSerial, Ordering::needs, Numbering::opens};
constexpr StageInfo kMeasure{"measure", "a measure", kReplicated, Ordering::preserves};
constexpr StageInfo kLeak{"leak", "a leak", kSerial, Ordering::preserves, Numbering::follows, false, 0, 2};
constexpr StageInfo kSum{"sum", "a sum", kSerial, Ordering::needs};
constexpr StageInfo kNull{"null", "nothing", kReplicated, Ordering::preserves};
constexpr StageInfo kPublish{"publish", "for others", kSerial, Ordering::preserves, Numbering::follows, false, 0, 4};

}  // namespace

const Registry& test_kinds() {
  static const Registry registry = [] {
    Registry kinds;
    kinds.add(describe<Numbers>());
    kinds.add(describe<Declared<Number, Number, kHalf>>());
    kinds.add(describe<Declared<Message, Message, kSame>>());
    kinds.add(describe<Declared<Number, Number, kLook>>());
    kinds.add(describe<Declared<Message, Message, kReorder>>());
    kinds.add(describe<Declared<Number, Number, kMerge>>());
    kinds.add(describe<Declared<Number, Span, kCut>>());
    kinds.add(describe<Declared<Span, Result, kMeasure>>());
    kinds.add(describe<Declared<Number, Number, kLeak>>());
    kinds.add(describe<Declared<Result, Nothing, kSum>>());
    kinds.add(describe<Declared<Message, Nothing, kNull>>());
    kinds.add(describe<Declared<Message, Nothing, kPublish>>());
    return kinds;
  }();
  return registry;
}

}  // namespace trama
