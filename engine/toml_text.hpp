// TOML text as plain values with line numbers. toml_text.cpp is the only file that includes the TOML library.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

inline constexpr size_t kMostGraphBytes = 128 * 1024;

struct TomlValue {
  enum class Type { flag, integer, number, text, list, table, time };
  Type type = Type::table;
  bool flag = false;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<TomlValue> items;   // of a list, or of a table in the order of their lines
  std::vector<std::string> keys;  // of a table: one for each item
  int line = 0;                   // from 1: where the value begins

  const TomlValue* find(std::string_view key) const;
};

// "an integer", "a list", ...: for "must be a text, not an integer".
const char* described(TomlValue::Type type);

// Whether the text is UTF-8 (RFC 3629, section 4).
bool is_utf8(std::string_view text);

// The table that the text is. A syntax error is one diagnostic at its line in `name`. Refused too: what isn't UTF-8,
// more than 128 KiB, lists or tables nested 32 deep, texts of several lines (TOML's triple quotes, which no graph
// needs), integers that don't fit into 64 bits (the library would alter them in silence).
Expected<TomlValue> read_toml(std::string_view text, const std::string& name);

}  // namespace trama
