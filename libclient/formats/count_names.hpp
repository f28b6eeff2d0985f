// What counts and reasons are called wherever people and programs read them: manifests, lines of JSON, Python.
#pragma once
#include <array>
#include <cstdint>

#include "libclient/formats/manifest.hpp"

namespace trama {

// Every count by its published name, in the published order, so that no two who write and read them can differ.
template <class Counts>
struct CountName {
  const char* name;
  uint64_t Counts::*count;
};

inline constexpr CountName<VerdictCounts> kVerdictCountNames[] = {
    {"counted", &VerdictCounts::counted},   {"excluded", &VerdictCounts::excluded},
    {"filtered", &VerdictCounts::filtered}, {"ipv6", &VerdictCounts::ipv6},
    {"not_ip", &VerdictCounts::not_ip},     {"malformed", &VerdictCounts::malformed},
    {"cut", &VerdictCounts::cut},           {"unknown_link", &VerdictCounts::unknown_link}};
inline constexpr CountName<DroppedCounts> kDroppedCountNames[] = {
    {"kernel", &DroppedCounts::kernel}, {"nic", &DroppedCounts::nic}, {"ring", &DroppedCounts::ring}};

// By the value of ClosedBy.
inline constexpr std::array<const char*, 6> kClosedByNames{"full", "end", "time", "key", "exclusions", "flush"};
static_assert(kClosedByNames.size() == static_cast<size_t>(ClosedBy::flush) + 1);

}  // namespace trama
