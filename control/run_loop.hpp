// While the graph runs: signals, messages, progress, time.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "control/run_control.hpp"
#include "control/run_progress.hpp"
#include "control/run_service.hpp"
#include "engine/runtime.hpp"
#include "modules/support/run_report.hpp"

namespace trama {

// Signals that the command answers, blocked from now on in this thread and in those it starts, so that they arrive
// where they are waited for.
class RunSignals {
 public:
  RunSignals();
  ~RunSignals();
  RunSignals(const RunSignals&) = delete;
  RunSignals& operator=(const RunSignals&) = delete;

  int fd() const { return fd_; }
  void setup_begins();  // until it has ended, SIGINT and SIGTERM end the process at once
  void setup_ended();   // from here on they are the RunLoop's
  int next();           // the number of one that has arrived; 0: none

 private:
  struct Watcher;
  int fd_ = -1;
  std::unique_ptr<Watcher> watcher_;
};

struct RunLoopOptions {
  bool quiet = false;                // no notes, no progress
  std::optional<double> duration_s;  // then the sources are stopped
};

// What the command does beside.
struct RunLoopCalls {
  std::function<void(double seconds)> say_so_far;  // SIGUSR1
  std::function<void()> before_quitting;           // a second SIGINT or SIGTERM: nothing else is cleaned up
};

class RunLoop {
 public:
  RunLoop(Runtime& runtime, RunControl& control, RunReport& report, RunService& service, const RunLoopOptions& options);

  // Runs the graph to its end, in threads of its own.
  void run(RunSignals& signals, const RunLoopCalls& calls);
  double seconds() const { return seconds_; }
  uint64_t cycles() const { return cycles_; }  // of one core, while it ran

 private:
  void answer(int signal, const RunLoopCalls& calls);
  void reload();
  void say_messages();
  double elapsed_s() const;

  Runtime& runtime_;
  RunControl& control_;
  RunReport& report_;
  RunService& service_;
  const RunLoopOptions options_;
  ProgressLine progress_;
  int64_t started_ns_ = 0;
  bool interrupted_ = false;
  double seconds_ = 0;
  uint64_t cycles_ = 0;
};

}  // namespace trama
