#include "engine/graph_keys.hpp"

#include "engine/diagnostic_list.hpp"
#include "engine/suggest.hpp"

namespace trama {
using Type = TomlValue::Type;

bool has_type(const TomlValue& value, Type type, const std::string& key, const Place& place, Diagnostics& diagnostics,
              const char* hint) {
  if (value.type == type) return true;
  refuse(diagnostics, place, "`" + key + "` must be " + described(type) + ", not " + described(value.type), hint);
  return false;
}

namespace {

bool read_number(const TomlValue& value, const std::string& key, size_t least, size_t most, size_t& number,
                 const Place& place, Diagnostics& diagnostics) {
  if (!has_type(value, Type::integer, key, place, diagnostics, "write a number without quotes")) return false;
  if (value.integer < 0 || static_cast<size_t>(value.integer) < least || static_cast<size_t>(value.integer) > most) {
    refuse(diagnostics, place, "`" + key + "` is " + std::to_string(value.integer),
           "it may be " + std::to_string(least) + ".." + std::to_string(most));
    return false;
  }
  number = static_cast<size_t>(value.integer);
  return true;
}

void read_cores(StageSpec& stage, const TomlValue& value, const Place& place, Diagnostics& diagnostics) {
  const char* hint = "write cores = [0, 1]";
  if (!has_type(value, Type::list, "cores", place, diagnostics, hint)) return;
  std::vector<uint64_t> cores;
  for (const TomlValue& item : value.items) {
    size_t core = 0;
    if (!read_number(item, "cores", 0, 4095, core, place, diagnostics)) return;
    cores.push_back(core);
  }
  stage.cores = std::move(cores);
  stage.cores_place = place;
}

void read_route(StageSpec& stage, const TomlValue& value, const Place& place, Diagnostics& diagnostics) {
  if (!has_type(value, Type::text, "route", place, diagnostics, "it may be \"any\" or \"by_window\"")) return;
  if (value.text == "any") {
    stage.route = Route::any;
  } else if (value.text == "by_window") {
    stage.route = Route::by_window;
  } else {
    return refuse(diagnostics, place, "`route` can't be \"" + value.text + "\"",
                  suggestion(value.text, "it may be", {"any", "by_window"}));
  }
  stage.route_place = place;
}

void read_parameter(StageSpec& stage, const std::string& key, const TomlValue& value, const Place& place,
                    Diagnostics& diagnostics) {
  ParameterValue parameter{false, place};
  switch (value.type) {
    case Type::flag: parameter.value = value.flag; break;
    case Type::integer: parameter.value = value.integer; break;
    case Type::number: parameter.value = value.number; break;
    case Type::text: parameter.value = value.text; break;
    case Type::list: {
      std::vector<std::string> texts;
      for (const TomlValue& item : value.items) {
        if (item.type != Type::text)
          return refuse(diagnostics, {place.file, place.line ? item.line : 0},
                        "the list `" + key + "` holds " + described(item.type), "lists hold texts, in quotes");
        texts.push_back(item.text);
      }
      parameter.value = std::move(texts);
      break;
    }
    case Type::table:
    case Type::time:
      return refuse(diagnostics, place, "`" + key + "` can't be " + described(value.type),
                    "a parameter is a text, a number, true, false, or a list of texts; texts stand in quotes");
  }
  stage.parameters.values[key] = std::move(parameter);
}

}  // namespace

void read_graph_key(GraphSpec& spec, const std::string& key, const TomlValue& value, const Place& place,
                    Diagnostics& diagnostics) {
  struct Number {
    const char* key;
    size_t least, most;
    size_t* number;
    Place* place;
  };
  const Number numbers[] = {
      {"window_packets", 1, 1u << 26, &spec.sizes.window_items, nullptr},
      {"batch_packets", 1, 1024, &spec.sizes.batch_items, nullptr},
      {"workers", 1, 1024, &spec.workers, &spec.workers_place},
      {"batch_credits", 1, 65536, &spec.batch_credits, &spec.batch_credits_place},
      {"window_credits", 1, 65536, &spec.window_credits, &spec.window_credits_place},
  };
  std::vector<std::string> known;
  for (const Number& number : numbers) {
    known.emplace_back(number.key);
    if (key != number.key) continue;
    if (read_number(value, key, number.least, number.most, *number.number, place, diagnostics) && number.place)
      *number.place = place;
    return;
  }
  if (key == "pin") {
    if (has_type(value, Type::flag, key, place, diagnostics, "write true or false without quotes"))
      spec.pin = value.flag;
    return;
  }
  known.insert(known.end(), {"pin", "links"});
  refuse(diagnostics, place, "unknown key `" + key + "` in [graph]", suggestion(key, "[graph] takes", known));
}

void read_stage_key(StageSpec& stage, const std::string& key, const TomlValue& value, const Place& place,
                    Diagnostics& diagnostics) {
  if (key == "kind") {
    if (!has_type(value, Type::text, key, place, diagnostics,
                  "write kind = \"...\"; `trama stages` lists what there is"))
      return;
    stage.kind = value.text;
    stage.kind_place = place;
  } else if (key == "replicas") {
    if (read_number(value, key, 1, 1024, stage.replicas, place, diagnostics)) stage.replicas_place = place;
  } else if (key == "cores") {
    read_cores(stage, value, place, diagnostics);
  } else if (key == "route") {
    read_route(stage, value, place, diagnostics);
  } else {
    read_parameter(stage, key, value, place, diagnostics);
  }
}

}  // namespace trama
