#include "control/control_protocol.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/suggest.hpp"

namespace trama {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostFields = 16;
constexpr size_t kLongestId = 128;
constexpr uint64_t kMostWindows = 64;
constexpr const char* kSample = R"(as in {"trama": 1, "request": "status"})";

struct VerbEntry {
  ControlVerb verb;
  const char* name;
  std::vector<std::string> fields;  // beside those that every request may have
};
const std::vector<VerbEntry>& verbs() {
  static const std::vector<VerbEntry> all{
      {ControlVerb::status, "status", {}},
      {ControlVerb::counters, "counters", {}},
      {ControlVerb::windows, "windows", {"last"}},
      {ControlVerb::exclude_add, "exclude add", {"range"}},
      {ControlVerb::exclude_remove, "exclude remove", {"range"}},
      {ControlVerb::exclude_list, "exclude list", {}},
      {ControlVerb::reload, "reload", {}},
      {ControlVerb::rotate_key, "rotate-key", {"key_file", "ephemeral"}},
      {ControlVerb::flush, "flush", {}},
      {ControlVerb::stop, "stop", {}},
  };
  return all;
}

const VerbEntry& entry_of(ControlVerb verb) {
  return *std::find_if(verbs().begin(), verbs().end(), [&](const VerbEntry& entry) { return entry.verb == verb; });
}

bool has_controls(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// A name that somebody sent, if it can't be anything else: a key pasted into the wrong place isn't repeated.
std::string shown(std::string_view name) {
  const auto is_plain = [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '`'; };
  if (name.size() > 24 || !std::all_of(name.begin(), name.end(), [&](char c) { return c == ' ' || is_plain(c); }))
    return "of that name";
  return "`" + std::string(name) + "`";
}

// The fields of a flat object, as they come. Stops at the first thing that a request can't have.
class FlatObject final : public nlohmann::json_sax<Json> {
 public:
  using Value = std::variant<bool, int64_t, std::string>;
  struct Field {
    std::string name;
    Value value;
  };
  const std::vector<Field>& fields() const { return fields_; }
  const std::string& problem() const { return problem_; }  // empty: there is none

  const Value* find(std::string_view name) const {
    const auto named = [&](const Field& field) { return field.name == name; };
    const auto field = std::find_if(fields_.begin(), fields_.end(), named);
    return field == fields_.end() ? nullptr : &field->value;
  }

  bool null() override { return refuse("a value can't be null"); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override {
    return value > INT64_MAX ? refuse("a number is too large") : add(static_cast<int64_t>(value));
  }
  bool number_float(double, const std::string&) override { return refuse("numbers are whole ones"); }
  bool string(std::string& value) override {
    return has_controls(value) ? refuse("a text has a control character in it") : add(std::move(value));
  }
  bool binary(Json::binary_t&) override { return refuse("a value can't be binary"); }
  bool start_object(size_t) override {
    if (in_object_) return refuse("a request has no objects in it");
    in_object_ = true;
    return true;
  }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return refuse(in_object_ ? "a request has no lists in it" : "not an object"); }
  bool end_array() override { return true; }
  bool key(std::string& name) override {
    if (fields_.size() == kMostFields) return refuse("too many fields");
    if (find(name)) return refuse("a field " + shown(name) + " is there twice");
    name_ = std::move(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return refuse("not JSON"); }

 private:
  bool add(Value value) {
    if (!in_object_) return refuse("not an object");
    fields_.push_back({std::move(name_), std::move(value)});
    return true;
  }
  bool refuse(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return false;
  }
  bool in_object_ = false;
  std::string name_, problem_;
  std::vector<Field> fields_;
};

Expected<RequestId> id_of(const FlatObject& object) {
  const auto* value = object.find("id");
  if (!value) return RequestId();
  if (const auto* number = std::get_if<int64_t>(value)) return RequestId(*number);
  const auto* text = std::get_if<std::string>(value);
  if (text && text->size() <= kLongestId) return RequestId(*text);
  return failure("`id` is a whole number or a text of at most " + std::to_string(kLongestId) + " bytes");
}

// The fields that belong to a verb, put into the request one by one.
Expected<void> take_field(const FlatObject::Field& field, ControlRequest& request) {
  if (field.name == "last") {
    const auto* number = std::get_if<int64_t>(&field.value);
    if (!number || *number < 1 || *number > static_cast<int64_t>(kMostWindows))
      return failure("`last` is a whole number of 1 to " + std::to_string(kMostWindows));
    request.last = static_cast<uint64_t>(*number);
  } else if (field.name == "ephemeral") {
    const auto* flag = std::get_if<bool>(&field.value);
    if (!flag) return failure("`ephemeral` is true or false");
    request.ephemeral = *flag;
  } else {
    const auto* text = std::get_if<std::string>(&field.value);
    if (!text || text->empty()) return failure("`" + field.name + "` is a text");
    (field.name == "range" ? request.range : request.key_file) = *text;
  }
  return {};
}

Expected<void> check_complete(const ControlRequest& request) {
  const bool about_range = request.verb == ControlVerb::exclude_add || request.verb == ControlVerb::exclude_remove;
  if (about_range && request.range.empty())
    return failure("the range is missing", R"(as in "range": "192.0.2.0/24:either")");
  if (request.verb == ControlVerb::rotate_key && request.key_file.empty() != request.ephemeral)
    return failure("`rotate-key` takes a key file, or makes a key",
                   R"(either "key_file": "/etc/trama/site.key" or "ephemeral": true)");
  return {};
}

Expected<ControlRequest> request_of(const FlatObject& object) {
  const auto* version = object.find("trama");
  const auto* number = version ? std::get_if<int64_t>(version) : nullptr;
  if (!number) return failure("a request begins with its version", kSample);
  if (*number != kControlVersion)
    return failure("this engine speaks version " + std::to_string(kControlVersion), kSample);
  const auto* named = object.find("request");
  const auto* name = named ? std::get_if<std::string>(named) : nullptr;
  if (!name) return failure("`request` is missing, or isn't a text", kSample);
  const auto verb = find_control_verb(*name);
  if (!verb) return tl::unexpected(verb.error());

  ControlRequest request;
  request.verb = *verb;
  const VerbEntry& entry = entry_of(*verb);
  for (const FlatObject::Field& field : object.fields()) {
    if (field.name == "trama" || field.name == "id" || field.name == "request") continue;
    if (std::find(entry.fields.begin(), entry.fields.end(), field.name) == entry.fields.end())
      return failure("`" + std::string(entry.name) + "` has no field " + shown(field.name),
                     entry.fields.empty() ? "it takes none" : suggestion(field.name, "it takes", entry.fields));
    if (auto taken = take_field(field, request); !taken) return tl::unexpected(std::move(taken.error()));
  }
  if (auto complete = check_complete(request); !complete) return tl::unexpected(std::move(complete.error()));
  return request;
}

void add_id(Json& json, const RequestId& id) {
  if (const auto* number = std::get_if<int64_t>(&id)) json["id"] = *number;
  if (const auto* text = std::get_if<std::string>(&id)) json["id"] = *text;
}

// ASCII only, so that no name in it can do anything to a terminal.
std::string line_of(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n"; }

Json answer(const RequestId& id, bool ok) {
  Json json{{"trama", kControlVersion}};
  add_id(json, id);
  json["ok"] = ok;
  return json;
}

}  // namespace

const char* to_string(ControlVerb verb) { return entry_of(verb).name; }

std::vector<std::string> control_verbs() {
  std::vector<std::string> names;
  for (const VerbEntry& entry : verbs()) names.emplace_back(entry.name);
  return names;
}

Expected<ControlVerb> find_control_verb(std::string_view name) {
  for (const VerbEntry& entry : verbs())
    if (name == entry.name) return entry.verb;
  return failure("there is no request " + shown(name), suggestion(name, "there are", control_verbs()));
}

DecodedRequest decode_request(std::string_view line) {
  if (line.size() > kMaxRequestBytes)
    return {{}, failure("a request has at most " + std::to_string(kMaxRequestBytes) + " bytes")};
  FlatObject object;
  const bool whole = Json::sax_parse(line, &object);
  auto id = id_of(object);
  const RequestId known = id.value_or(RequestId());
  if (!whole) return {known, failure("not a request: " + object.problem(), kSample)};
  if (!id) return {known, tl::unexpected(std::move(id.error()))};
  return {known, request_of(object)};
}

std::string encode_request(const ControlRequest& request, const RequestId& id) {
  Json json{{"trama", kControlVersion}};
  add_id(json, id);
  json["request"] = to_string(request.verb);
  if (!request.range.empty()) json["range"] = request.range;
  if (!request.key_file.empty()) json["key_file"] = request.key_file;
  if (request.ephemeral) json["ephemeral"] = true;
  if (request.verb == ControlVerb::windows) json["last"] = request.last;
  return line_of(json);
}

std::string encode_result(const RequestId& id, const Json& result) {
  Json json = answer(id, true);
  json["result"] = result;
  return line_of(json);
}

std::string encode_failure(const RequestId& id, const Diagnostic& failure) {
  Json json = answer(id, false);
  json["error"] = failure.text;
  if (!failure.hint.empty()) json["hint"] = failure.hint;
  return line_of(json);
}

Expected<Json> decode_answer(std::string_view line) {
  const auto strange = [] { return failure("whoever answered is no trama of this version"); };
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || json.value("trama", Json()) != kControlVersion) return strange();
  const Json ok = json.value("ok", Json()), error = json.value("error", Json()), hint = json.value("hint", Json(""));
  if (ok == true && json.contains("result")) return json["result"];
  if (ok != false || !error.is_string() || !hint.is_string()) return strange();
  return failure(error.get<std::string>(), hint.get<std::string>());
}

}  // namespace trama
