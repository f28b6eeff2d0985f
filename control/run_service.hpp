// A run as its service manager sees it: ready, how it is doing, alive, stopping.
//
// The watchdog is fed by progress, not by a timer: only when every worker has looked for work since the last time. A
// stage that hangs holds its worker, so that the service manager starts the run anew.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "control/engine_state.hpp"
#include "control/service_manager.hpp"
#include "engine/runtime.hpp"

namespace trama {

class RunService {
 public:
  // `status`: how the run is doing, asked every few seconds. All that is referred to must live as long.
  RunService(const ServiceManager& manager, const Runtime& runtime, std::function<EngineStatus()> status)
      : manager_(manager), runtime_(runtime), status_(std::move(status)) {}

  // Again and again while the graph runs; `now_ns` of any steady clock. Says that the run is ready once all workers are
  // at work.
  void tick(int64_t now_ns, bool stopping);
  // How soon the next call should come.
  int tick_ms() const;

  // Around the reading of files anew.
  void reloads();
  void has_reloaded();
  // The graph has come to its end.
  void ended();

 private:
  bool all_have_moved() const;
  void get_ready();
  void say_rates(int64_t now_ns);

  const ServiceManager& manager_;
  const Runtime& runtime_;
  const std::function<EngineStatus()> status_;
  bool ready_ = false, stopping_ = false;
  std::vector<uint64_t> rounds_;  // of the workers, when the watchdog was fed last
  int64_t fed_ns_ = 0, said_ns_ = 0;
  uint64_t packets_said_ = 0;
};

}  // namespace trama
