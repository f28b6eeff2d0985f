// null: the end of a graph that is only measured.
//
//   links = ["synthetic -> parse -> null"]
//
// Takes any type, in any order, and lets go of it. What the messages carry is in the summary all the same.
#include "engine/registry.hpp"

namespace trama {
namespace {

class Null final : public Stage<Message, Nothing> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "null",
                                   .summary = "the end of a graph that is only measured",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};

  Null(const Parameters&, const ReplicaContext&) {}

  Step process(Message& in, Output<Nothing>& out) override {
    out.release(&in);
    return Step::done;
  }
};

REGISTER_STAGE(Null);

}  // namespace
}  // namespace trama
