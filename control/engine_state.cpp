#include "control/engine_state.hpp"

#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "engine/cycles.hpp"

namespace trama {
namespace {

template <class Clock>
int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}
constexpr auto steady_ns = now_ns<std::chrono::steady_clock>;

}  // namespace

ReplicaStatus StageStatus::sum() const {
  ReplicaStatus sum;
  for (const ReplicaStatus& replica : replicas) {
    sum.messages += replica.messages;
    sum.items += replica.items;
    sum.blocked += replica.blocked;
    sum.busy_s += replica.busy_s;
  }
  return sum;
}

void add_passed_by(const std::vector<StageCounters>& stages, std::vector<OutletReport>& outlets) {
  for (OutletReport& outlet : outlets)
    for (const StageCounters& stage : stages)
      if (stage.name == outlet.stage) outlet.passed_by = stage.lost;
}

EngineState::EngineState(const Runtime& runtime, const Ledger& ledger, const RunReport& report,
                         const RunControl& control, Identity identity)
    : runtime_(runtime),
      ledger_(ledger),
      report_(report),
      control_(control),
      identity_(std::move(identity)),
      started_epoch_ns_(now_ns<std::chrono::system_clock>()),
      started_ns_(steady_ns()),
      started_cycles_(cycles()) {}

// Measured once: what has been busy for so many seconds must not have been so for fewer at the next look.
double EngineState::cycles_per_second() const {
  std::call_once(measured_, [this] {
    constexpr int64_t kLeastNs = 20'000'000;  // the clocks are read within 100 ns of each other: exact to 1e-5
    if (const int64_t missing = kLeastNs - (steady_ns() - started_ns_); missing > 0)
      std::this_thread::sleep_for(std::chrono::nanoseconds(missing));
    const auto elapsed_ns = static_cast<double>(steady_ns() - started_ns_);
    cycles_per_second_ = static_cast<double>(cycles() - started_cycles_) / elapsed_ns * 1e9;
  });
  return cycles_per_second_;
}

EngineStatus EngineState::status() const {
  EngineStatus status;
  status.version = TRAMA_VERSION;
  status.sensor = identity_.sensor;
  status.graph = identity_.graph;
  status.pid = static_cast<uint64_t>(getpid());
  status.workers = identity_.workers;
  status.stopping = control_.stopping();
  status.started_ns = started_epoch_ns_;
  // The tally before what was read, so that never more is judged than read.
  status.tally = ledger_.sum();
  // Known before the window that carries it has ended; nothing in graphs that cut no windows.
  const Tally judged = report_.judged();
  if (judged.seen() >= status.tally.seen()) {
    const Tally windows = std::exchange(status.tally, judged);
    status.tally.full_windows = windows.full_windows;
    status.tally.partial_windows = windows.partial_windows;
  }
  status.packets_read = report_.packets_read();
  status.bytes_read = report_.bytes_read();
  status.bytes_expected = report_.bytes_expected();
  status.windows_lost = report_.windows_lost();
  status.archives = report_.archives().size();
  const double rate = cycles_per_second();
  const std::vector<StageCounters> all = runtime_.counters();
  status.outlets = report_.outlets();
  add_passed_by(all, status.outlets);
  for (const StageCounters& counters : all) {
    StageStatus stage{counters.name, counters.kind, counters.queue_peak, counters.lost, {}};
    for (const ReplicaCounters& replica : counters.replicas)
      stage.replicas.push_back(
          {replica.messages, replica.items, replica.blocked, static_cast<double>(replica.busy_cycles) / rate});
    status.stages.push_back(std::move(stage));
  }
  status.seconds = static_cast<double>(steady_ns() - started_ns_) * 1e-9;
  return status;
}

}  // namespace trama
