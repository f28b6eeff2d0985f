// What `trama bench` was asked for, with nothing left open.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/bench/instances.hpp"
#include "control/bench/report.hpp"
#include "control/bench/rounds.hpp"
#include "control/command_line.hpp"
#include "modules/support/synthetic_traffic.hpp"

namespace trama {

struct BenchOptions {
  size_t rounds = 7;
  size_t windows = 1;  // of one measurement
  size_t window_packets = size_t{1} << 17;
  std::vector<TrafficModel> traffic{TrafficModel::uniform, TrafficModel::zipf};
  InstanceKind instances = InstanceKind::processes;  // build
  int table_bits = 28;                               // pipeline
  size_t workers = 1;                                // rings
  Rounds::Progress progress;                         // may be empty

  uint64_t packets() const { return uint64_t{windows} * window_packets; }  // of one measurement
};

// One measurement of the command. Each fills in rows and notes of a report; everything else of it is the same for all.
struct BenchVerb {
  const char* name;
  const char* summary;
  size_t windows, quick_windows;  // standards
  Expected<void> (*run)(const BenchOptions& options, BenchReport& report);
};
Expected<void> bench_build(const BenchOptions& options, BenchReport& report);
Expected<void> bench_io(const BenchOptions& options, BenchReport& report);
Expected<void> bench_rings(const BenchOptions& options, BenchReport& report);
Expected<void> bench_pipeline(const BenchOptions& options, BenchReport& report);
Expected<void> bench_stages(const BenchOptions& options, BenchReport& report);

}  // namespace trama
