// pass: hands every message on as it is.
//
//   links = ["capture -> pass -> parse"]
//
// Takes any type. Keeps order with one replica, breaks it with more. This is the stage to copy: a file like this one, a
// test in tests/modules/, a line in modules/CMakeLists.txt.
#include "engine/registry.hpp"

namespace trama {
namespace {

class Pass final : public Stage<Message, Message> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "pass",
                                   .summary = "hands every message on as it is; the stage to copy",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves};

  Pass(const Parameters&, const ReplicaContext&) {}

  Step process(Message& in, Output<Message>& out) override {
    out.push(&in);
    return Step::done;
  }
};

REGISTER_STAGE(Pass);

}  // namespace
}  // namespace trama
