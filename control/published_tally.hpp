// The published names of what a tally counts, in the order in which everybody writes them.
#pragma once
#include <array>
#include <cstdint>

#include "modules/support/tally.hpp"

namespace trama {

struct VerdictName {
  const char* name;
  Verdict verdict;
};
// `excluded` is one verdict, and has three reasons.
inline constexpr std::array<VerdictName, 7> kVerdictNames{{{"counted", Verdict::counted},
                                                           {"filtered", Verdict::filtered},
                                                           {"ipv6", Verdict::ipv6},
                                                           {"not_ip", Verdict::not_ip},
                                                           {"malformed", Verdict::malformed},
                                                           {"cut", Verdict::cut},
                                                           {"unknown_link", Verdict::unknown_link}}};
inline constexpr std::array<VerdictName, 3> kExcludedNames{
    {{"range", Verdict::excluded_range}, {"module", Verdict::excluded_module}, {"fault", Verdict::excluded_fault}}};

struct TallyName {
  const char* name;
  uint64_t Tally::*value;
};
inline constexpr std::array<TallyName, 3> kDroppedNames{
    {{"kernel", &Tally::dropped_kernel}, {"nic", &Tally::dropped_nic}, {"ring", &Tally::dropped_ring}}};
inline constexpr std::array<TallyName, 2> kWindowNames{
    {{"full", &Tally::full_windows}, {"partial", &Tally::partial_windows}}};

}  // namespace trama
