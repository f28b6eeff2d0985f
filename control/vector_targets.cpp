#include "control/vector_targets.hpp"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "engine/suggest.hpp"

namespace trama {
namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

// One bit for each target, the better the lower.
std::vector<int64_t> targets_of(int64_t mask) {
  std::vector<int64_t> targets;
  for (; mask != 0; mask &= mask - 1) targets.push_back(mask & -mask);
  return targets;
}

std::vector<std::string> names_of(int64_t mask) {
  std::vector<std::string> names;
  for (const int64_t target : targets_of(mask)) names.push_back(lower_case(hwy::TargetName(target)));
  return names;
}

}  // namespace

std::vector<std::string> usable_vector_targets() { return names_of(hwy::SupportedTargets() & HWY_TARGETS); }

// Not by hwy::DisableTargets(), which is meant for it: in Highway 1.0.3, whoever asks SupportedTargets() after it makes
// kernels take all targets again.
Expected<void> limit_vector_targets(const std::string& name) {
  for (const int64_t target : targets_of(HWY_TARGETS)) {
    if (lower_case(hwy::TargetName(target)) != lower_case(name)) continue;
    hwy::SetSupportedTargetsForTest(0);  // all there are
    hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & -target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return {};
  }
  return failure("there are no vector instructions `" + name + "`",
                 suggestion(name, std::string(kVectorVariable) + " may be", names_of(HWY_TARGETS)));
}

Expected<void> limit_vector_targets_by_environment() {
  const char* name = std::getenv(kVectorVariable);
  if (name == nullptr || *name == '\0') return {};
  return limit_vector_targets(name);
}

}  // namespace trama
