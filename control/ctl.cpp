// trama ctl: asks a running engine to do something.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "control/control_client.hpp"
#include "control/data_output.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "engine/suggest.hpp"

namespace trama {
namespace {

using Json = nlohmann::ordered_json;

Expected<std::string> value_behind(const Arguments& words, size_t at, const char* what, const char* example) {
  if (words.size() > at) return words[at];
  return failure(std::string("the ") + what + " is missing", std::string("as in `trama ctl ") + example + "`");
}

// The engine may have another working directory.
std::string from_anywhere(const std::string& path) { return std::filesystem::absolute(path).string(); }

Expected<ControlRequest> request_of(const Arguments& words, bool ephemeral) {
  const bool two = nearest(words[0], {"exclude"}) && words.size() > 1;
  const auto verb = find_control_verb(two ? words[0] + " " + words[1] : words[0]);
  if (!verb) return tl::unexpected(verb.error());
  ControlRequest request;
  request.verb = *verb;
  request.ephemeral = ephemeral;
  size_t used = two ? 2 : 1;
  if (*verb == ControlVerb::exclude_add || *verb == ControlVerb::exclude_remove) {
    const auto range = value_behind(words, used++, "range", "exclude add 192.0.2.0/24");
    if (!range) return tl::unexpected(range.error());
    request.range = *range;
  } else if (*verb == ControlVerb::rotate_key && !ephemeral) {
    const auto file =
        value_behind(words, used++, "key file", "rotate-key new.key` or `trama ctl rotate-key --ephemeral");
    if (!file) return tl::unexpected(file.error());
    request.key_file = from_anywhere(*file);
  } else if (ephemeral && *verb != ControlVerb::rotate_key) {
    return failure("--ephemeral is for `rotate-key` alone");
  }
  if (words.size() > used) return failure("one argument too many", "`trama ctl --help` shows what there is");
  return request;
}

std::string list_text(const Json& result) {
  std::string text;
  for (const Json& range : result.at("typed")) text += printable(range.get<std::string>()) + "\n";
  for (const Json& file : result.at("files")) text += "file " + printable(file.get<std::string>()) + "\n";
  return text + counted(result.at("ranges").get<uint64_t>(), "different range") + " in force\n";
}

// What came of it, in words where there are any.
std::string result_text(ControlVerb verb, const Json& result) {
  switch (verb) {
    case ControlVerb::exclude_add:
    case ControlVerb::exclude_remove:
    case ControlVerb::reload:
      return counted(result.at("ranges").get<uint64_t>(), "exclusion range") +
             (result.at("changed").get<bool>() ? " from now on\n" : " as before\n");
    case ControlVerb::exclude_list: return list_text(result);
    case ControlVerb::rotate_key:
      return "another key from now on (fingerprint " + printable(result.at("key").get<std::string>()) + ")\n";
    case ControlVerb::flush: return "the window being filled is closed, if there is a packet in it\n";
    case ControlVerb::stop: return "the run finishes what it has received, and ends\n";
    default: return result.dump(2, ' ', true) + "\n";
  }
}

Expected<std::string> answer_to(const ControlRequest& request, const std::optional<std::string>& socket, bool json) {
  const auto path = find_control_socket(socket);
  if (!path) return tl::unexpected(path.error());
  auto client = ControlClient::connect(*path);
  if (!client) return tl::unexpected(std::move(client.error()));
  const auto result = client->ask(request);
  if (!result) return tl::unexpected(result.error());
  try {
    return json ? result->dump(2, ' ', true) + "\n" : result_text(request.verb, *result);
  } catch (const Json::exception&) {
    return failure("the answer is not one that this version understands", "ask with the trama of the running engine");
  }
}

}  // namespace

int ctl_verb(const Arguments& arguments) {
  bool json = false, ephemeral = false;
  std::optional<std::string> socket;
  std::vector<std::string> words;
  CommandLine line(
      "ctl REQUEST ... [--socket PATH]",
      "Asks a running engine to do something. Requests:\n\n"
      "  exclude add CIDR[:SIDE]      keep a range out, from now on; SIDE: either, both, source, destination\n"
      "  exclude remove CIDR[:SIDE]   let it in again\n"
      "  exclude list                 what was typed, and how many ranges there are with those of files\n"
      "  reload                       read the files of ranges and map contents again\n"
      "  rotate-key FILE              anonymize under another key, from the next window on\n"
      "  rotate-key --ephemeral       the same, under a key that is then forgotten\n"
      "  flush                        close the window being filled\n"
      "  stop                         finish what was received, and end\n"
      "  status, counters, windows    the numbers, as JSON",
      "  trama ctl exclude add 192.0.2.0/24:source\n"
      "  trama ctl --socket /run/trama/site.sock stop\n");
  line.text("--socket", socket, "PATH", "the run's socket (the only one in /run/trama, or ./trama.sock)");
  line.flag("--ephemeral", ephemeral, "for rotate-key");
  line.flag("--json", json, "the answer as JSON");
  line.words(words, "REQUEST", 1, 4);
  if (const auto ended = line.ends(arguments)) return *ended;

  const auto request = request_of(words, ephemeral);
  if (!request) return print(request.error()), kMisused;
  const auto text = answer_to(*request, socket, json);
  if (!text) return print(text.error()), kFailed;
  DataOutput output;
  output.write(*text);
  return output.finish() ? kDone : kFailed;
}

}  // namespace trama
