// How stages that publish are doing, in JSON: of a summary, and of an answer about a running engine.
#pragma once
#include <nlohmann/json.hpp>
#include <vector>

#include "modules/support/outlet_report.hpp"

namespace trama {

inline nlohmann::ordered_json outlets_json(const std::vector<OutletReport>& outlets) {
  auto list = nlohmann::ordered_json::array();
  for (const OutletReport& outlet : outlets) {
    nlohmann::ordered_json json{{"stage", outlet.stage}, {"url", outlet.url}};
    for (const auto& [name, count] : kOutletCountNames) json[name] = outlet.counts.*count;
    json["passed_by"] = outlet.passed_by;
    list.push_back(std::move(json));
  }
  return list;
}

// A count that an older engine doesn't know is 0. Throws nlohmann::json::exception.
inline std::vector<OutletReport> parse_outlets(const nlohmann::ordered_json& list) {
  std::vector<OutletReport> outlets;
  for (const auto& json : list) {
    OutletReport& outlet = outlets.emplace_back();
    json.at("stage").get_to(outlet.stage);
    json.at("url").get_to(outlet.url);
    for (const auto& [name, count] : kOutletCountNames) outlet.counts.*count = json.value(name, uint64_t{0});
    json.at("passed_by").get_to(outlet.passed_by);
  }
  return outlets;
}

}  // namespace trama
