// Verdicts, and the tally that travels with the data (CONTRACT: every packet seen gets exactly one verdict).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trama {

// What became of a packet. `excluded` is kept in its three reasons; everything else is a published name.
enum class Verdict : uint8_t {
  counted,
  excluded_range,   // in a privacy range
  excluded_module,  // dropped by an eBPF module that is an exclusion
  excluded_fault,   // a filter could not judge it: filters fail closed
  filtered,
  ipv6,
  not_ip,
  malformed,
  cut,
  unknown_link,
};
inline constexpr size_t kVerdicts = 10;

// Conserved quantities of a batch or a window. It goes along with the data from message to message, and is summed once,
// where the number of the last message retires.
struct Tally {
  std::array<uint64_t, kVerdicts> packets{};
  uint64_t dropped_kernel = 0, dropped_nic = 0, dropped_ring = 0;  // lost before the engine saw them
  uint64_t removed_in_kernel = 0;                                  // taken out by an XDP program; never seen
  uint64_t full_windows = 0, partial_windows = 0;

  uint64_t& operator[](Verdict verdict) { return packets[static_cast<size_t>(verdict)]; }
  uint64_t operator[](Verdict verdict) const { return packets[static_cast<size_t>(verdict)]; }
  uint64_t excluded() const {
    return (*this)[Verdict::excluded_range] + (*this)[Verdict::excluded_module] + (*this)[Verdict::excluded_fault];
  }
  uint64_t seen() const {
    uint64_t sum = 0;
    for (uint64_t count : packets) sum += count;
    return sum;
  }
  Tally& operator+=(const Tally& other) {
    for (size_t i = 0; i < kVerdicts; ++i) packets[i] += other.packets[i];
    dropped_kernel += other.dropped_kernel;
    dropped_nic += other.dropped_nic;
    dropped_ring += other.dropped_ring;
    removed_in_kernel += other.removed_in_kernel;
    full_windows += other.full_windows;
    partial_windows += other.partial_windows;
    return *this;
  }
  bool operator==(const Tally&) const = default;
};

}  // namespace trama
