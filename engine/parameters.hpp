// Closed, typed parameters: a stage says once what it takes; that one list reads a graph file, refuses what it doesn't
// know, and makes the catalogue of `trama stages KIND`.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

// The keys of a [stages.NAME] table that belong to the engine; no stage may have a parameter of such a name.
inline constexpr const char* kEngineKeys[] = {"kind", "replicas", "cores", "route"};

// A value as it stood in the graph file or on the command line, with its place.
struct ParameterValue {
  std::variant<bool, int64_t, double, std::string, std::vector<std::string>> value;
  Place place;
};

// The keys of one [stages.NAME] table that belong to the stage and not to the engine.
struct ParameterTable {
  std::map<std::string, ParameterValue> values;
  Place place;  // of the table; of the link that names the stage when there is no table
};

struct ParameterHelp {
  std::string name;
  std::string type;      // "text", "list of texts", "integer 1..64", "lz4 | zstd | none", "true | false", "seconds"
  std::string standard;  // the value when it isn't given; empty: none
  std::string help;
};

// Visits a stage's `Parameters` struct: `void bind(ParameterBinder& b) { b.text("key_file", key_file, "..."); }`.
// It reads the table into the struct, or, without a table, only lists what there is. The member's value before the call
// is the standard. A value of another type, out of range, or not among the choices is a diagnostic with its place.
class ParameterBinder {
 public:
  ParameterBinder() = default;                                               // lists only
  explicit ParameterBinder(const ParameterTable& table) : table_(&table) {}  // reads

  void text(const char* name, std::string& value, const char* help);
  // One text is taken as a list of one.
  void texts(const char* name, std::vector<std::string>& value, const char* help);
  void integer(const char* name, uint64_t& value, uint64_t least, uint64_t most, const char* help);
  void flag(const char* name, bool& value, const char* help);
  void seconds(const char* name, double& value, double least, double most, const char* help);
  template <class E>
  void choice(const char* name, E& value, std::initializer_list<std::pair<const char*, E>> choices, const char* help) {
    std::vector<std::string> names;
    size_t at = 0;
    for (const auto& [text, meaning] : choices) {
      if (meaning == value) at = names.size();
      names.emplace_back(text);
    }
    if (choose(name, names, at, help)) value = (choices.begin() + at)->second;
  }

  bool reading() const { return table_ != nullptr; }
  bool given(const char* name) const;                                 // stands in the table
  Place place_of(const char* name) const;                             // of the value; of the table when it isn't given
  void refuse(const char* name, std::string text, std::string hint);  // for what only the stage can judge

  // After the visit: refuses what was not asked for, with the nearest name; then all diagnostics.
  Diagnostics finish();
  const std::vector<ParameterHelp>& help() const { return help_; }

 private:
  bool choose(const char* name, const std::vector<std::string>& names, size_t& at, const char* help);
  const ParameterValue* find(const char* name, const char* type, std::string standard, const char* help);

  const ParameterTable* table_ = nullptr;
  std::vector<ParameterHelp> help_;
  Diagnostics diagnostics_;
};

}  // namespace trama
