// A graph of the real stages, made but not run, with all that the command keeps beside it.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "control/engine_state.hpp"
#include "control/run_observer.hpp"
#include "control/runtime_control.hpp"
#include "engine/graph_spec.hpp"
#include "engine/plan.hpp"
#include "modules/support/run_report.hpp"

namespace trama::test {

struct RunningGraph {
  explicit RunningGraph(const std::string& text) {
    auto spec = parse_graph(text, "test");
    auto checked = spec ? check(*spec, Registry::instance()) : tl::unexpected(spec.error());
    auto plan = checked ? make_plan(std::move(*checked), {0, 1}) : tl::unexpected(checked.error());
    auto made = plan ? Runtime::make(*plan, services, &observer) : tl::unexpected(plan.error());
    if (!made) {
      ADD_FAILURE() << made.error().front().text;
      return;
    }
    runtime = std::move(*made);
    control = std::make_unique<RuntimeControl>(*runtime, services, configured_exclusions(*spec));
    state = std::make_unique<EngineState>(*runtime, ledger, *report, *control,
                                          EngineState::Identity{"tap-3", "0123abcd", 2});
  }

  Services services;
  std::shared_ptr<RunReport> report = services.get<RunReport>();
  std::shared_ptr<WindowLog> windows = services.get<WindowLog>();
  std::shared_ptr<RulesInForce> rules = services.get<RulesInForce>();
  Ledger ledger;
  RunObserver observer{ledger, *windows};
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<RuntimeControl> control;
  std::unique_ptr<EngineState> state;
};

// Packets from the generator to windows of 1000 pairs, and nowhere.
inline std::string small_graph(const std::string& tables = "") {
  return "[graph]\nwindow_packets = 1000\nworkers = 1\n"
         "links = [\"synthetic -> parse -> exclude -> in_order -> stamp -> anonymize -> null\"]\n"
         "[stages.synthetic]\npackets = 10500\n[stages.in_order]\nkind = \"reorder\"\n" +
         tables;
}

}  // namespace trama::test
