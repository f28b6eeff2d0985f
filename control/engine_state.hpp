// How a running graph is doing: what `status`, `counters` and the metrics show. No addresses, no keys.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "control/run_control.hpp"
#include "engine/runtime.hpp"
#include "modules/support/run_report.hpp"
#include "modules/support/tallied.hpp"

namespace trama {

struct ReplicaStatus {
  uint64_t messages = 0, items = 0, blocked = 0;
  double busy_s = 0;
};
struct StageStatus {
  std::string name, kind;
  uint64_t queue_peak = 0, lost = 0;
  std::vector<ReplicaStatus> replicas;

  ReplicaStatus sum() const;
};

struct EngineStatus {
  std::string version, sensor, graph;  // of the program; of the observer; SHA-256 of the canonical graph
  uint64_t pid = 0, workers = 0;
  bool stopping = false;
  int64_t started_ns = 0;  // since the epoch, UTC
  double seconds = 0;      // since then
  // By sources. They run ahead of the tally by what is under way.
  uint64_t packets_read = 0, bytes_read = 0, bytes_expected = 0;  // 0 expected: not known
  Tally tally;
  uint64_t windows_lost = 0, archives = 0;
  std::vector<StageStatus> stages;
  std::vector<OutletReport> outlets;
};

// Adds what the engine knows of the stages that publish.
void add_passed_by(const std::vector<StageCounters>& stages, std::vector<OutletReport>& outlets);

// Thread-safe.
class EngineState {
 public:
  struct Identity {
    std::string sensor, graph;
    size_t workers = 1;
  };
  // All of them must live as long. The run begins now.
  EngineState(const Runtime& runtime, const Ledger& ledger, const RunReport& report, const RunControl& control,
              Identity identity);

  EngineStatus status() const;

 private:
  double cycles_per_second() const;

  const Runtime& runtime_;
  const Ledger& ledger_;
  const RunReport& report_;
  const RunControl& control_;
  const Identity identity_;
  int64_t started_epoch_ns_, started_ns_;
  uint64_t started_cycles_;
  mutable std::once_flag measured_;
  mutable double cycles_per_second_ = 0;
};

}  // namespace trama
