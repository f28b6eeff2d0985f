// One thread that plays all workers, on a schedule drawn from a seed: the same seed, the same run.
#pragma once
#include <cstdint>

#include "engine/runtime.hpp"

namespace trama {

class Simulator {
 public:
  explicit Simulator(Runtime& runtime) : runtime_(runtime) {}

  // Runs the graph to its end with at most `workers` replicas in the middle of a step at any time, each for as long as
  // the draw lets it be. False: a deadlock, nothing can step any more. Stages must not depend on other threads.
  bool run(uint64_t seed, size_t workers);

  // Steps whoever can, most downstream first as a worker does, until nobody can. True when the graph has ended.
  bool run_until_quiet();

 private:
  Runtime& runtime_;
};

}  // namespace trama
