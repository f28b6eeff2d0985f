#include "control/engine_watch.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "control/engine_state_json.hpp"
#include "control/status_page.hpp"

namespace trama {

Expected<void> EngineWatch::look() {
  auto looked = look_once();
  if (looked) return looked;
  auto again = ControlClient::connect(client_.path());
  if (!again) return looked;
  client_ = std::move(*again);
  return look_once();
}

Expected<void> EngineWatch::look_once() {
  ControlRequest request;
  const auto answer = client_.ask(request);
  if (!answer) return tl::unexpected(answer.error());
  auto status = parse_status(*answer);
  if (!status) return tl::unexpected(std::move(status.error()));
  request.verb = ControlVerb::windows;
  const auto listed = client_.ask(request);
  if (!listed) return tl::unexpected(listed.error());
  auto windows = parse_windows(*listed);
  if (!windows) return tl::unexpected(std::move(windows.error()));
  before_ = std::exchange(now_, std::move(*status));
  windows_ = std::move(*windows);
  return {};
}

std::string EngineWatch::page(size_t most_windows) const {
  return now_ ? status_page(before_ ? *before_ : EngineStatus(), *now_, windows_, most_windows) : "";
}

Expected<std::string> snapshot_page(ControlClient client) {
  constexpr size_t kWindows = 5;
  EngineWatch watch(std::move(client));
  for (int look = 0; look < 2; ++look) {
    if (look > 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    if (auto looked = watch.look(); !looked) return tl::unexpected(std::move(looked.error()));
  }
  return watch.page(kWindows);
}

}  // namespace trama
