// reorder: puts messages back in the order of their numbers, behind stages that work out of order.
//
//   links = ["capture -> parse -> in_order -> stamp"]
//   [stages.in_order]
//   kind = "reorder"
//
// Takes any type. Needs no parameters: a domain's credits say how many numbers can be alive.
#include "engine/reorder.hpp"

#include "engine/registry.hpp"

namespace trama {
namespace {

class Reorder final : public Stage<Message, Message> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{
      .kind = "reorder", .summary = "puts messages back in the order of their numbers", .ordering = Ordering::restores};

  Reorder(const Parameters&, const ReplicaContext& context) : buffer_(context.input_credits) {}

  Step process(Message& in, Output<Message>& out) override {
    buffer_.put(&in, [&out](Message* ready) { out.push(ready); });
    return Step::done;
  }

 private:
  ReorderBuffer buffer_;
};

REGISTER_STAGE(Reorder);

}  // namespace
}  // namespace trama
