// trama status: how a running engine is doing.
#include <nlohmann/json.hpp>

#include "control/control_client.hpp"
#include "control/data_output.hpp"
#include "control/engine_watch.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"

namespace trama {
namespace {

Expected<std::string> status_text(const std::optional<std::string>& socket, bool json) {
  const auto path = find_control_socket(socket);
  if (!path) return tl::unexpected(path.error());
  auto client = ControlClient::connect(*path);
  if (!client) return tl::unexpected(std::move(client.error()));
  if (!json) return snapshot_page(std::move(*client));
  const auto answer = client->ask({});
  if (!answer) return tl::unexpected(answer.error());
  return answer->dump(2, ' ', true) + "\n";
}

}  // namespace

int status_verb(const Arguments& arguments) {
  bool json = false;
  std::optional<std::string> socket;
  CommandLine line("status [--socket PATH] [--json]",
                   "Shows how a running engine is doing: rates, verdicts, losses, windows, stages.",
                   "  trama status\n"
                   "  trama status --socket /run/trama/site.sock --json | jq .packets\n");
  line.text("--socket", socket, "PATH", "the run's socket (the only one in /run/trama, or ./trama.sock)");
  line.flag("--json", json, "one JSON object");
  if (const auto ended = line.ends(arguments)) return *ended;

  const auto text = status_text(socket, json);
  if (!text) return print(text.error()), kFailed;
  DataOutput output;
  output.write(*text);
  return output.finish() ? kDone : kFailed;
}

}  // namespace trama
