// Graph files: from TOML values to a GraphSpec.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/diagnostic_list.hpp"
#include "engine/graph_keys.hpp"
#include "engine/graph_links.hpp"
#include "engine/graph_spec.hpp"
#include "engine/suggest.hpp"
#include "engine/toml_text.hpp"

namespace trama {
namespace {

using Type = TomlValue::Type;
constexpr size_t kMostStages = 1000;

StageSpec new_stage(const std::string& name, const Place& place) {
  StageSpec stage;
  stage.name = stage.kind = name;
  stage.place = stage.parameters.place = place;
  stage.kind_place = stage.replicas_place = stage.route_place = stage.cores_place = place;
  return stage;
}

// Turns the top-level table into a spec.
class Reader {
 public:
  explicit Reader(GraphSpec& spec) : spec_(spec), diagnostics_(spec.form_errors) {}

  // Whether all links and stages were understood, so that the rest can be judged without guessing.
  bool understood() const { return understood_; }

  void read(const TomlValue& file) {
    for (size_t i = 0; i < file.keys.size(); ++i) {
      const std::string& key = file.keys[i];
      if (key != "graph" && key != "stages")
        refuse(diagnostics_, at(file.items[i]), "`" + key + "` has no place at the top of a graph file",
               suggestion(key, "there are", {"graph", "stages"}));
    }
    if (const TomlValue* graph = file.find("graph")) read_graph(*graph);
    if (const TomlValue* stages = file.find("stages")) read_stages(*stages);
  }

 private:
  Place at(const TomlValue& value) const { return {spec_.place.file, value.line}; }

  void read_graph(const TomlValue& graph) {
    if (!has_type(graph, Type::table, "graph", at(graph), diagnostics_, "write [graph] and its keys below"))
      return lost();
    for (size_t i = 0; i < graph.keys.size(); ++i) {
      if (graph.keys[i] == "links") {
        read_links(graph.items[i]);
      } else {
        read_graph_key(spec_, graph.keys[i], graph.items[i], at(graph.items[i]), diagnostics_);
      }
    }
  }

  void read_links(const TomlValue& links) {
    const char* hint = "write links = [\"a -> b\", \"b -> c\"]";
    if (!has_type(links, Type::list, "links", at(links), diagnostics_, hint)) return lost();
    const size_t wrong_before = diagnostics_.size();
    for (const TomlValue& item : links.items) {
      if (item.type != Type::text) {
        refuse(diagnostics_, at(item), std::string("a link must be a text, not ") + described(item.type), hint);
        continue;
      }
      for (LinkSpec& link : parse_links(item.text, at(item), diagnostics_)) {
        if (!stage(link.from, link.place) || !stage(link.to, link.place)) return lost();
        spec_.links.push_back(std::move(link));
      }
    }
    if (diagnostics_.size() > wrong_before) lost();
  }

  void read_stages(const TomlValue& stages) {
    if (!has_type(stages, Type::table, "stages", at(stages), diagnostics_, "write [stages.NAME]")) return lost();
    for (size_t i = 0; i < stages.keys.size(); ++i) {
      const std::string& name = stages.keys[i];
      const TomlValue& table = stages.items[i];
      if (!has_type(table, Type::table, "stages." + name, at(table), diagnostics_,
                    "write [stages.NAME] and its keys below")) {
        lost();
        continue;
      }
      if (!is_stage_name(name)) {
        refuse(diagnostics_, at(table), "`" + name + "` is no stage name", "a name has letters, digits, _ and -");
        lost();
        continue;
      }
      StageSpec* spec = stage(name, at(table));
      if (!spec) return lost();
      // Linked before, then its places were those of the link.
      *spec = new_stage(name, at(table));
      for (size_t k = 0; k < table.keys.size(); ++k) {
        const size_t wrong_before = diagnostics_.size();
        read_stage_key(*spec, table.keys[k], table.items[k], at(table.items[k]), diagnostics_);
        if (table.keys[k] == "kind" && diagnostics_.size() > wrong_before) lost();
      }
    }
  }

  void lost() { understood_ = false; }

  // Found or made; null, and a diagnostic, when there are too many.
  StageSpec* stage(const std::string& name, const Place& place) {
    if (StageSpec* known = spec_.find(name)) return known;
    if (spec_.stages.size() == kMostStages) {
      refuse(diagnostics_, place, "more than " + std::to_string(kMostStages) + " stages", "");
      return nullptr;
    }
    spec_.stages.push_back(new_stage(name, place));
    return &spec_.stages.back();
  }

  GraphSpec& spec_;
  Diagnostics& diagnostics_;
  bool understood_ = true;
};

}  // namespace

const StageSpec* GraphSpec::find(std::string_view name) const {
  for (const StageSpec& stage : stages)
    if (stage.name == name) return &stage;
  return nullptr;
}

StageSpec* GraphSpec::find(std::string_view name) {
  return const_cast<StageSpec*>(static_cast<const GraphSpec*>(this)->find(name));
}

SourceLines lines_of(std::string_view text, const std::string& name) {
  SourceLines source{name, {}};
  std::vector<std::string>& lines = source.lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (!lines.back().empty() && lines.back().back() == '\r') lines.back().pop_back();
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return source;
}

tl::expected<GraphSpec, Diagnostics> parse_graph(std::string_view text, const std::string& name) {
  const auto file = read_toml(text, name);
  if (!file) return tl::unexpected(Diagnostics{file.error()});
  GraphSpec spec;
  spec.place = spec.workers_place = spec.batch_credits_place = spec.window_credits_place = {name, 0};
  spec.lines = lines_of(text, name);
  Reader reader(spec);
  reader.read(*file);
  if (!reader.understood()) return tl::unexpected(in_order(std::move(spec.form_errors)));
  return spec;
}

Expected<std::string> read_graph_text(const std::string& path) {
  const Place place{path, 0};
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return failure("this is a folder, not a graph file", "name a file that ends in .toml", place);
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(std::string("can't be read: ") + std::strerror(errno), "", place);
  // One byte more than read_toml() takes is enough for it to refuse the rest.
  std::string text(kMostGraphBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return failure("can't be read to its end", "", place);
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

tl::expected<GraphSpec, Diagnostics> load_graph(const std::string& path) {
  const auto text = read_graph_text(path);
  if (!text) return tl::unexpected(Diagnostics{text.error()});
  return parse_graph(*text, path);
}

namespace {

// What stands behind `=` on the command line. Text, unless TOML takes it for something else.
Expected<TomlValue> assigned_value(const std::string& text, const Place& place) {
  TomlValue bare;
  bare.type = Type::text;
  bare.text = text;
  if (text.empty()) return bare;
  auto read = read_toml("value = " + text, place.file);
  const bool meant_as_toml = std::strchr("\"'[{", text.front()) != nullptr;
  if (!read && meant_as_toml) {
    read.error().place = place;
    return tl::unexpected(read.error());
  }
  // Two keys: a text with a line break in it.
  if (!read || read->items.size() != 1 || read->items[0].type == Type::time) return bare;
  return read->items[0];
}

}  // namespace

std::optional<Diagnostic> set_parameter(GraphSpec& spec, std::string_view assignment, const Place& place) {
  const char* form = "write stages.NAME.KEY=VALUE or graph.KEY=VALUE";
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return Diagnostic{Severity::error, place, "no `=` in the assignment", form};
  const std::string path(assignment.substr(0, equals));
  const size_t first = path.find('.'), last = path.rfind('.');
  const std::string table = path.substr(0, first);
  const std::string key = last == std::string::npos ? "" : path.substr(last + 1);
  const bool for_stage = table == "stages" && last > first + 1;
  if (first == std::string::npos || key.empty() || !(for_stage || (table == "graph" && first == last)))
    return Diagnostic{Severity::error, place, "`" + path + "` names no parameter", form};

  const auto value = assigned_value(std::string(assignment.substr(equals + 1)), place);
  if (!value) return value.error();
  Diagnostics diagnostics;
  if (!for_stage && key == "links") {
    refuse(diagnostics, place, "links can't be set from outside the graph file", "copy the graph file and change it");
  } else if (!for_stage) {
    read_graph_key(spec, key, *value, place, diagnostics);
  } else {
    const std::string name = path.substr(first + 1, last - first - 1);
    if (StageSpec* stage = spec.find(name)) {
      read_stage_key(*stage, key, *value, place, diagnostics);
    } else {
      std::vector<std::string> names;
      for (const StageSpec& other : spec.stages) names.push_back(other.name);
      refuse(diagnostics, place, "no stage `" + name + "` in this graph", suggestion(name, "it has", names));
    }
  }
  if (diagnostics.empty()) return std::nullopt;
  return diagnostics.front();
}

}  // namespace trama
