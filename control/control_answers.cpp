#include "control/control_answers.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "control/engine_state_json.hpp"
#include "control/terminal.hpp"

namespace trama {
namespace {

using Json = nlohmann::ordered_json;

// Several errors as one: lists are small, and an answer has one text.
Diagnostic joined_up(const Diagnostics& all) {
  Diagnostic one;
  for (const Diagnostic& diagnostic : all) {
    if (!one.text.empty()) one.text += "; ";
    if (!diagnostic.place.file.empty()) {
      one.text += diagnostic.place.file + ":";
      if (diagnostic.place.line > 0) one.text += std::to_string(diagnostic.place.line) + ":";
      one.text += " ";
    }
    one.text += diagnostic.text;
    if (one.hint.empty()) one.hint = diagnostic.hint;
  }
  return one;
}

}  // namespace

std::string ControlAnswers::answer(std::string_view line) {
  const DecodedRequest decoded = decode_request(line);
  if (!decoded.request) return encode_failure(decoded.id, decoded.request.error());
  const Result result = carry_out(*decoded.request);
  if (!result) return encode_failure(decoded.id, joined_up({result.error()}));
  return encode_result(decoded.id, *result);
}

ControlAnswers::Result ControlAnswers::carry_out(const ControlRequest& request) {
  switch (request.verb) {
    case ControlVerb::status: return status_json(state_.status());
    case ControlVerb::counters: return counters_json(state_.status());
    case ControlVerb::windows: return windows_json(windows_.last(request.last));
    case ControlVerb::exclude_add:
    case ControlVerb::exclude_remove:
    case ControlVerb::reload: return exclusions(request);
    case ControlVerb::exclude_list: return list_exclusions();
    case ControlVerb::rotate_key: return rotate_key(request);
    case ControlVerb::flush: return flush();
    case ControlVerb::stop: return stop();
  }
  return failure("there is no such request");
}

ControlAnswers::Result ControlAnswers::exclusions(const ControlRequest& request) {
  const auto change = request.verb == ControlVerb::exclude_add      ? control_.exclude_add(request.range)
                      : request.verb == ControlVerb::exclude_remove ? control_.exclude_remove(request.range)
                                                                    : control_.reload();
  if (!change) return tl::unexpected(joined_up(change.error()));
  const std::string number = counted(change->ranges, "exclusion range");
  if (change->changed) note(number + " from now on");
  return Json{{"changed", change->changed}, {"ranges", change->ranges}};
}

ControlAnswers::Result ControlAnswers::list_exclusions() const {
  const auto origin = control_.exclude_list();
  if (!origin) return tl::unexpected(joined_up(origin.error()));
  return Json{{"typed", origin->typed}, {"files", origin->files}, {"ranges", origin->ranges}};
}

ControlAnswers::Result ControlAnswers::rotate_key(const ControlRequest& request) {
  const auto fingerprint = control_.rotate_key({request.key_file});
  if (!fingerprint) return tl::unexpected(fingerprint.error());
  note("another key from now on (fingerprint " + *fingerprint + ")");
  return Json{{"key", *fingerprint}};
}

ControlAnswers::Result ControlAnswers::flush() {
  if (auto flushed = control_.flush(); !flushed) return tl::unexpected(std::move(flushed.error()));
  note("the window being filled is closed, if there is a packet in it");
  return Json::object();
}

ControlAnswers::Result ControlAnswers::stop() {
  if (!control_.stopping()) note("told to stop");
  control_.stop();
  return Json::object();
}

}  // namespace trama
