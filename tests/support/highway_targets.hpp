// Runs code on each instruction set that this machine has and Google Highway was built for.
#pragma once
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>
#include <vector>

namespace trama {

// As long as this lives, Highway's dispatch takes `target`. For one thread at a time, while no other uses Highway.
class ForcedTarget {
 public:
  // Lower targets stay allowed: libhwy_contrib has no AVX3_DL, and falls back to scalar code when that alone is left.
  explicit ForcedTarget(int64_t target) { allow(supported() & -target); }
  ~ForcedTarget() { allow(0); }
  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;

 private:
  static int64_t supported() {
    hwy::SetSupportedTargetsForTest(0);
    return hwy::SupportedTargets();
  }
  static void allow(int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

// Best first.
inline std::vector<int64_t> highway_targets() { return hwy::SupportedAndGeneratedTargets(); }

}  // namespace trama
