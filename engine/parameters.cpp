#include "engine/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/suggest.hpp"

namespace trama {
namespace {

const char* described(const ParameterValue& value) {
  static constexpr const char* kNames[] = {"true or false", "an integer", "a number with a fraction", "a text",
                                           "a list of texts"};
  return kNames[value.value.index()];
}

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

std::string range(const std::string& least, const std::string& most) { return least + ".." + most; }

}  // namespace

void ParameterBinder::text(const char* name, std::string& value, const char* help) {
  const ParameterValue* given = find(name, "text", value, help);
  if (!given) return;
  if (const auto* text = std::get_if<std::string>(&given->value)) {
    value = *text;
  } else {
    refuse(name, std::string("`") + name + "` is a text, not " + described(*given), "write it in quotes");
  }
}

void ParameterBinder::texts(const char* name, std::vector<std::string>& value, const char* help) {
  const ParameterValue* given = find(name, "list of texts", joined(value), help);
  if (!given) return;
  if (const auto* list = std::get_if<std::vector<std::string>>(&given->value)) {
    value = *list;
  } else if (const auto* one = std::get_if<std::string>(&given->value)) {
    value = {*one};
  } else {
    refuse(name, std::string("`") + name + "` is a list of texts, not " + described(*given),
           std::string("write it as ") + name + " = [\"one\", \"two\"]");
  }
}

void ParameterBinder::integer(const char* name, uint64_t& value, uint64_t least, uint64_t most, const char* help) {
  const std::string allowed = range(std::to_string(least), std::to_string(most));
  const ParameterValue* given = find(name, ("integer " + allowed).c_str(), std::to_string(value), help);
  if (!given) return;
  const auto* number = std::get_if<int64_t>(&given->value);
  if (!number) {
    refuse(name, std::string("`") + name + "` is an integer, not " + described(*given),
           "write a number of " + allowed + " without quotes");
  } else if (*number < 0 || static_cast<uint64_t>(*number) < least || static_cast<uint64_t>(*number) > most) {
    refuse(name, std::string("`") + name + "` is " + std::to_string(*number), "it may be " + allowed);
  } else {
    value = static_cast<uint64_t>(*number);
  }
}

void ParameterBinder::flag(const char* name, bool& value, const char* help) {
  const ParameterValue* given = find(name, "true | false", value ? "true" : "false", help);
  if (!given) return;
  if (const auto* flag = std::get_if<bool>(&given->value)) {
    value = *flag;
  } else {
    refuse(name, std::string("`") + name + "` is true or false, not " + described(*given),
           "write true or false without quotes");
  }
}

void ParameterBinder::seconds(const char* name, double& value, double least, double most, const char* help) {
  const ParameterValue* given = find(name, "seconds", decimal(value), help);
  if (!given) return;
  double number = 0;
  if (const auto* whole = std::get_if<int64_t>(&given->value)) {
    number = static_cast<double>(*whole);
  } else if (const auto* fraction = std::get_if<double>(&given->value)) {
    number = *fraction;
  } else {
    return refuse(name, std::string("`") + name + "` is a number of seconds, not " + described(*given),
                  "write a number without quotes, as 0.5 or 30");
  }
  // Written so that "not a number" is refused too.
  if (number >= least && number <= most) {
    value = number;
  } else {
    refuse(name, std::string("`") + name + "` is " + decimal(number),
           "it may be " + range(decimal(least), decimal(most)) + " seconds");
  }
}

bool ParameterBinder::choose(const char* name, const std::vector<std::string>& names, size_t& at, const char* help) {
  const ParameterValue* given = find(name, joined(names, " | ").c_str(), names[at], help);
  if (!given) return false;
  const auto* text = std::get_if<std::string>(&given->value);
  if (!text) {
    refuse(name, std::string("`") + name + "` is one of some texts, not " + described(*given),
           "it may be, in quotes: " + joined(names));
    return false;
  }
  const auto chosen = std::find(names.begin(), names.end(), *text);
  if (chosen == names.end()) {
    refuse(name, std::string("`") + name + "` can't be \"" + *text + "\"", suggestion(*text, "it may be", names));
    return false;
  }
  at = static_cast<size_t>(chosen - names.begin());
  return true;
}

const ParameterValue* ParameterBinder::find(const char* name, const char* type, std::string standard,
                                            const char* help) {
  help_.push_back({name, type, std::move(standard), help});
  if (!table_) return nullptr;
  const auto given = table_->values.find(name);
  return given == table_->values.end() ? nullptr : &given->second;
}

bool ParameterBinder::given(const char* name) const { return table_ && table_->values.count(name) != 0; }

Place ParameterBinder::place_of(const char* name) const {
  if (!table_) return {};
  const auto given = table_->values.find(name);
  return given == table_->values.end() ? table_->place : given->second.place;
}

void ParameterBinder::refuse(const char* name, std::string text, std::string hint) {
  if (table_) diagnostics_.push_back({Severity::error, place_of(name), std::move(text), std::move(hint)});
}

Diagnostics ParameterBinder::finish() {
  if (!table_) return {};
  std::vector<std::string> names;
  for (const ParameterHelp& known : help_) names.push_back(known.name);
  // A mistyped engine key lands here too, since whatever the engine doesn't know is the stage's.
  for (const char* key : kEngineKeys) names.emplace_back(key);
  for (const auto& [name, value] : table_->values) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    diagnostics_.push_back({Severity::error, value.place, "unknown parameter `" + name + "`",
                            suggestion(name, "this stage takes", names)});
  }
  return std::exchange(diagnostics_, {});
}

}  // namespace trama
