#include "engine/simulator.hpp"

#include <utility>
#include <vector>

namespace trama {
namespace {

// xorshift64 (Marsaglia 2003, "Xorshift RNGs").
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  size_t operator()(size_t below) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<size_t>((state_ >> 11) % below);
  }

 private:
  uint64_t state_;
};

}  // namespace

bool Simulator::run(uint64_t seed, size_t workers) {
  using Seat = std::pair<Runtime::Node*, size_t>;
  Draw draw(seed);
  std::vector<Seat> idle, busy;
  for (auto& node : runtime_.nodes_)
    for (size_t r = 0; r < node->replicas.size(); ++r) idle.emplace_back(node.get(), r);

  // Steps in a row that brought nothing. With every replica drawn thousands of times, none can step.
  const size_t hopeless = 10000 * idle.size();
  size_t fruitless = 0;
  while (!runtime_.all_finished()) {
    const bool begin = busy.empty() || (busy.size() < workers && !idle.empty() && draw(2) == 0);
    std::vector<Seat>& from = begin ? idle : busy;
    std::vector<Seat>& to = begin ? busy : idle;
    const size_t at = draw(from.size());
    auto [node, replica] = from[at];
    const bool moved = begin ? runtime_.take(*node, replica) : runtime_.go_on(*node, replica);
    if (!begin || moved) {
      to.push_back(from[at]);
      from[at] = from.back();
      from.pop_back();
    }
    if (!begin && moved)
      fruitless = 0;
    else if (++fruitless > hopeless)
      return false;
  }
  return true;
}

bool Simulator::run_until_quiet() {
  auto& nodes = runtime_.nodes_;
  const auto step_one = [&] {
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
      for (size_t r = 0; r < (*node)->replicas.size(); ++r)
        if (runtime_.take(**node, r) && runtime_.go_on(**node, r)) return true;
    return false;
  };
  // A stage may push and then be blocked, which counts as no step: only a second round without one is quiet.
  for (int fruitless = 0; fruitless < 2;) fruitless = step_one() ? 0 : fruitless + 1;
  return runtime_.all_finished();
}

}  // namespace trama
