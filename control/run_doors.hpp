// The ways into a run from outside: its control socket and its metrics, where they were asked for.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "control/control_answers.hpp"
#include "control/control_server.hpp"
#include "control/control_socket.hpp"
#include "control/metrics.hpp"
#include "control/privileges.hpp"

namespace trama {

class RunDoors {
 public:
  struct Wanted {
    std::optional<std::string> socket;  // a path
    std::optional<MetricsAddress> metrics;
    std::optional<OtherUser> user;  // who is to own the socket
  };
  // What takes root is done here: the socket has its name and its owner, and scrapes are answered. All that is referred
  // to must live as long.
  static Expected<std::unique_ptr<RunDoors>> open(const Wanted& wanted, RunControl& control, const EngineState& state,
                                                  const WindowLog& windows, RunReport& report);
  // From here on requests are answered too; those that have come meanwhile wait.
  Expected<void> serve();

  // Takes the socket's name away, where a process ends without ado.
  void remove_socket() {
    if (socket_) socket_->remove();
  }

 private:
  RunDoors(RunControl& control, const EngineState& state, const WindowLog& windows, RunReport& report)
      : answers_(control, state, windows, report) {}
  Expected<void> open_metrics(const MetricsAddress& address, const EngineState& state, RunReport& report);

  ControlAnswers answers_;
  std::unique_ptr<Metrics> metrics_;
  std::optional<ControlSocket> socket_;
  std::unique_ptr<ControlServer> server_;  // first to go: it uses all of the above
};

}  // namespace trama
