#include "control/engine_state_json.hpp"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "control/outlet_json.hpp"
#include "control/published_tally.hpp"
#include "control/quantity_names.hpp"

namespace trama {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 6> kClosedBy{"full", "end", "time", "key", "exclusions", "flush"};

double micros(double seconds) { return std::round(seconds * 1e6) / 1e6; }

Json packets_json(const Tally& tally) {
  Json json{{"seen", tally.seen()}};
  for (const auto& [name, verdict] : kVerdictNames) {
    json[name] = tally[verdict];
    if (verdict == Verdict::counted) json["excluded"] = tally.excluded();
  }
  return json;
}

template <class Names>
Json counts_json(const Tally& tally, const Names& names) {
  Json json;
  for (const auto& [name, value] : names) json[name] = tally.*value;
  return json;
}

Json replica_json(const ReplicaStatus& replica) {
  return {{"messages", replica.messages},
          {"items", replica.items},
          {"busy_s", micros(replica.busy_s)},
          {"blocked", replica.blocked}};
}

Tally parse_tally(const Json& json) {
  Tally tally;
  for (const auto& [name, verdict] : kVerdictNames) json.at("packets").at(name).get_to(tally[verdict]);
  for (const auto& [name, verdict] : kExcludedNames) json.at("excluded_by").at(name).get_to(tally[verdict]);
  for (const auto& [name, value] : kDroppedNames) json.at("dropped").at(name).get_to(tally.*value);
  for (const auto& [name, value] : kWindowNames) json.at("windows").at(name).get_to(tally.*value);
  json.at("removed_in_kernel").get_to(tally.removed_in_kernel);
  return tally;
}

StageStatus parse_stage(const Json& json) {
  StageStatus stage;
  json.at("stage").get_to(stage.name);
  json.at("kind").get_to(stage.kind);
  json.at("queue_peak").get_to(stage.queue_peak);
  json.at("lost").get_to(stage.lost);
  ReplicaStatus& sum = stage.replicas.emplace_back();
  json.at("messages").get_to(sum.messages);
  json.at("items").get_to(sum.items);
  json.at("busy_s").get_to(sum.busy_s);
  json.at("blocked").get_to(sum.blocked);
  return stage;
}

EngineStatus status_of(const Json& json) {
  EngineStatus status;
  json.at("version").get_to(status.version);
  json.at("pid").get_to(status.pid);
  json.at("sensor").get_to(status.sensor);
  json.at("graph").get_to(status.graph);
  json.at("workers").get_to(status.workers);
  status.stopping = json.at("state").get<std::string>() != "running";
  json.at("started_ns").get_to(status.started_ns);
  json.at("seconds").get_to(status.seconds);
  const Json& read = json.at("read");
  read.at("packets").get_to(status.packets_read);
  read.at("bytes").get_to(status.bytes_read);
  read.at("bytes_expected").get_to(status.bytes_expected);
  status.tally = parse_tally(json);
  json.at("windows").at("lost").get_to(status.windows_lost);
  json.at("archives").get_to(status.archives);
  for (const Json& stage : json.at("stages")) status.stages.push_back(parse_stage(stage));
  if (const auto streams = json.find("streams"); streams != json.end()) status.outlets = parse_outlets(*streams);
  return status;
}

template <class T>
std::optional<T> optional_of(const Json& json, const char* name) {
  const Json& value = json.at(name);
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

Json quantities_json(const std::optional<Quantities>& quantities) {
  Json json;
  if (quantities)
    for (const auto& [name, value] : kQuantityNames) json[name] = (*quantities).*value;
  return json;
}

std::optional<Quantities> quantities_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  Quantities quantities;
  for (const auto& [name, value] : kQuantityNames) json.at(name).get_to(quantities.*value);
  return quantities;
}

FinishedWindow window_of(const Json& json) {
  FinishedWindow window;
  json.at("seq").get_to(window.seq);
  json.at("packets").get_to(window.packets);
  json.at("partial").get_to(window.partial);
  json.at("finished_ns").get_to(window.finished_ns);
  if (const auto quantities = json.find("quantities"); quantities != json.end())
    window.quantities = quantities_of(*quantities);
  const auto reason = optional_of<std::string>(json, "closed_by");
  if (!reason) return window;
  WindowDescription& description = window.description.emplace();
  for (size_t i = 0; i < kClosedBy.size(); ++i)
    if (*reason == kClosedBy[i]) description.closed_by = static_cast<ClosedBy>(i);
  json.at("links").get_to(description.links);
  json.at("sources").get_to(description.sources);
  json.at("first_ns").get_to(description.first_ns);
  json.at("last_ns").get_to(description.last_ns);
  return window;
}

// Whoever answers may be another version, or another program.
template <class Read>
auto reading(const Read& read) -> Expected<decltype(read())> {
  try {
    return read();
  } catch (const Json::exception&) {
    return failure("the answer is not one that this version understands", "ask with the trama of the running engine");
  }
}

}  // namespace

const char* to_string(ClosedBy reason) { return kClosedBy.at(static_cast<size_t>(reason)); }

Json status_json(const EngineStatus& status) {
  const Tally& tally = status.tally;
  Json json{
      {"version", status.version},
      {"pid", status.pid},
      {"sensor", status.sensor},
      {"graph", status.graph},
      {"workers", status.workers},
      {"state", status.stopping ? "stopping" : "running"},
      {"started_ns", status.started_ns},
      {"seconds", micros(status.seconds)},
      {"read",
       {{"packets", status.packets_read}, {"bytes", status.bytes_read}, {"bytes_expected", status.bytes_expected}}},
      {"packets", packets_json(tally)}};
  for (const auto& [name, verdict] : kExcludedNames) json["excluded_by"][name] = tally[verdict];
  json["dropped"] = counts_json(tally, kDroppedNames);
  json["removed_in_kernel"] = tally.removed_in_kernel;
  json["windows"] = counts_json(tally, kWindowNames);
  json["windows"]["lost"] = status.windows_lost;
  json["archives"] = status.archives;
  json["stages"] = Json::array();
  for (const StageStatus& stage : status.stages) {
    Json object{{"stage", stage.name}, {"kind", stage.kind}, {"replicas", stage.replicas.size()}};
    object.update(replica_json(stage.sum()));
    object["queue_peak"] = stage.queue_peak;
    object["lost"] = stage.lost;
    json["stages"].push_back(std::move(object));
  }
  if (!status.outlets.empty()) json["streams"] = outlets_json(status.outlets);
  return json;
}

Json counters_json(const EngineStatus& status) {
  Json stages = Json::array();
  for (const StageStatus& stage : status.stages) {
    Json object{{"stage", stage.name}, {"kind", stage.kind}, {"queue_peak", stage.queue_peak}, {"lost", stage.lost}};
    object["replicas"] = Json::array();
    for (const ReplicaStatus& replica : stage.replicas) object["replicas"].push_back(replica_json(replica));
    stages.push_back(std::move(object));
  }
  return {{"seconds", micros(status.seconds)}, {"stages", std::move(stages)}};
}

Json windows_json(const std::vector<FinishedWindow>& windows) {
  Json list = Json::array();
  for (const FinishedWindow& window : windows) {
    const auto& description = window.description;
    const auto part = [&](auto member) { return description ? Json((*description).*member) : Json(); };
    list.push_back({{"seq", window.seq},
                    {"packets", window.packets},
                    {"partial", window.partial},
                    {"links", part(&WindowDescription::links)},
                    {"sources", part(&WindowDescription::sources)},
                    {"destinations", window.quantities ? Json(window.quantities->n_destinations) : Json()},
                    {"closed_by", description ? Json(to_string(description->closed_by)) : Json()},
                    {"first_ns", part(&WindowDescription::first_ns)},
                    {"last_ns", part(&WindowDescription::last_ns)},
                    {"finished_ns", window.finished_ns},
                    {"quantities", quantities_json(window.quantities)}});
  }
  return {{"windows", std::move(list)}};
}

Expected<EngineStatus> parse_status(const Json& json) {
  return reading([&] { return status_of(json); });
}

Expected<std::vector<FinishedWindow>> parse_windows(const Json& json) {
  return reading([&] {
    std::vector<FinishedWindow> windows;
    for (const Json& window : json.at("windows")) windows.push_back(window_of(window));
    return windows;
  });
}

}  // namespace trama
