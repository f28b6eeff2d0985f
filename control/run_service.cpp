#include "control/run_service.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "control/terminal.hpp"

namespace trama {
namespace {

constexpr int kTickMs = 200;     // a fraction of any watchdog that makes sense
constexpr int kNotReadyMs = 5;   // who waits for this service to be ready shouldn't wait for nothing
constexpr int kFeedsInTime = 4;  // how often the watchdog is fed while it waits
constexpr int64_t kRatesNs = 5'000'000'000;

std::string rates(const EngineStatus& status, double packets_per_second) {
  const Tally& tally = status.tally;
  return short_number(packets_per_second) + " packets/s, " +
         counted(tally.full_windows + tally.partial_windows, "window") + ", " +
         std::to_string(tally.dropped_kernel + tally.dropped_nic + tally.dropped_ring) + " dropped";
}

}  // namespace

int RunService::tick_ms() const { return manager_.present() && !ready_ ? kNotReadyMs : kTickMs; }

void RunService::tick(int64_t now_ns, bool stopping) {
  if (!manager_.present()) return;
  if (!ready_ && all_have_moved()) {
    get_ready();
    said_ns_ = fed_ns_ = now_ns;
  }
  if (!ready_) return;
  if (stopping && !stopping_) {
    stopping_ = true;
    manager_.say("STOPPING=1\nSTATUS=finishing what was received");
  }
  const auto watchdog_ns = manager_.watchdog_ns();
  if (watchdog_ns && now_ns - fed_ns_ >= *watchdog_ns / kFeedsInTime && all_have_moved()) {
    rounds_ = runtime_.rounds();
    fed_ns_ = now_ns;
    manager_.say("WATCHDOG=1");
  }
  if (!stopping_ && now_ns - said_ns_ >= kRatesNs) say_rates(now_ns);
}

bool RunService::all_have_moved() const {
  const std::vector<uint64_t> now = runtime_.rounds();
  for (size_t worker = 0; worker < now.size(); ++worker)
    if (now[worker] == (rounds_.empty() ? 0 : rounds_[worker])) return false;
  return true;
}

void RunService::get_ready() {
  ready_ = true;
  rounds_ = runtime_.rounds();
  manager_.say("READY=1\nSTATUS=running");
}

void RunService::say_rates(int64_t now_ns) {
  const EngineStatus status = status_();
  const double seconds = static_cast<double>(now_ns - said_ns_) * 1e-9;
  manager_.say("STATUS=" + rates(status, static_cast<double>(status.packets_read - packets_said_) / seconds));
  packets_said_ = status.packets_read;
  said_ns_ = now_ns;
}

void RunService::reloads() {
  // The time is how systemd tells this reloading from an earlier one: CLOCK_MONOTONIC, which is what steady_clock
  // reads.
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  if (ready_ && !stopping_) manager_.say("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

void RunService::has_reloaded() {
  if (ready_ && !stopping_) manager_.say("READY=1");
}

// A run may be over before anybody has looked whether it was ready.
void RunService::ended() {
  if (!manager_.present()) return;
  if (!ready_) get_ready();
  if (!stopping_) manager_.say("STOPPING=1");
  stopping_ = true;
}

}  // namespace trama
