#include "control/run_doors.hpp"

#include <utility>

namespace trama {

Expected<std::unique_ptr<RunDoors>> RunDoors::open(const Wanted& wanted, RunControl& control, const EngineState& state,
                                                   const WindowLog& windows, RunReport& report) {
  std::unique_ptr<RunDoors> doors(new RunDoors(control, state, windows, report));
  if (wanted.socket) {
    auto socket = ControlSocket::open(*wanted.socket);
    if (!socket) return tl::unexpected(std::move(socket.error()));
    doors->socket_.emplace(std::move(*socket));
    if (wanted.user)
      if (auto given = doors->socket_->give_to(*wanted.user); !given) return tl::unexpected(std::move(given.error()));
  }
  if (wanted.metrics)
    if (auto opened = doors->open_metrics(*wanted.metrics, state, report); !opened)
      return tl::unexpected(std::move(opened.error()));
  return doors;
}

Expected<void> RunDoors::open_metrics(const MetricsAddress& address, const EngineState& state, RunReport& report) {
  auto metrics = Metrics::open(address, state);
  if (!metrics) return tl::unexpected(std::move(metrics.error()));
  metrics_ = std::move(*metrics);
  report.say({Severity::note, {}, "metrics at " + metrics_->url(), ""});
  if (!address.is_loopback())
    report.say({Severity::warning,
                {},
                "metrics can be read from other machines, by anybody",
                "give --metrics PORT alone for this machine, or let a firewall choose who may"});
  return {};
}

Expected<void> RunDoors::serve() {
  if (!socket_) return {};
  const auto answer = [this](std::string_view line) { return answers_.answer(line); };
  auto server = ControlServer::start(socket_->descriptor(), answer, {});
  if (!server) return tl::unexpected(std::move(server.error()));
  server_ = std::move(*server);
  return {};
}

}  // namespace trama
