#include "engine/toml_text.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>
#include <toml.hpp>

namespace trama {
namespace {

constexpr int kDeepest = 32;
constexpr int kMostDots = 100;  // on a line, outside of texts

// What the library says (a part of it), and what we say.
struct Cause {
  const char* theirs;
  const char* ours;
  const char* hint;
};
constexpr Cause kCauses[] = {
    {"invalid key", "this is neither a table nor a key with a value",
     "a table is [name], a key of letters, digits, _ and - stands before `=`"},
    {"empty key", "no key before `=`", "write key = value"},
    {"separator `=`", "no `=` after the key", "write key = value"},
    {"missing value", "no value after `=`", "texts stand in quotes, numbers, true and false without"},
    {"unknown value", "this is no value", "texts stand in quotes; true and false are written small"},
    {"value (", "this key stands here for the second time", "keep one of the two"},
    {"already exists", "this table stands here for the second time", "put its keys into the first one"},
    {"value having invalid format", "a list holds something that is no value",
     "put each text in quotes and close the quotes on the same line"},
    {"array separator", "a list goes on without a comma, or isn't closed",
     "put a comma between its values and ] behind the last"},
    {"parse_array", "a list isn't closed or holds something that is no value",
     "put a comma between its values and ] behind the last"},
    {"curly brace", "a table in braces isn't closed on its line", "write { key = value, key = value }"},
    {"parse_inline_table", "a table in braces is broken", "write { key = value, key = value }"},
    {"string", "a text isn't closed, or has a \\ sequence that TOML doesn't know",
     "close the quotes on the same line; text in single quotes takes \\ as it is"},
    {"date", "no such date or time", "a date stands in quotes where a text is wanted"},
    {"time", "no such date or time", "a date stands in quotes where a text is wanted"},
    {"`_`", "an underscore in a number must stand between digits", "write 131072 or 131_072"},
    {"expected newline", "something stands behind the value", "one key a line; comments begin with #"},
};

// The library's own line is wrong for some errors; the last line that its text quotes, as "12 | ...", is right.
int line_of(const toml::exception& wrong, int lines) {
  int line = static_cast<int>(wrong.location().line());
  std::istringstream said(wrong.what());
  for (std::string quoted; std::getline(said, quoted);) {
    std::istringstream start(quoted);
    int number = 0;
    char bar = 0;
    if (start >> number >> bar && bar == '|') line = number;
  }
  return std::clamp(line, 1, lines);
}

Diagnostic explained(const toml::exception& wrong, const std::string& name, int lines) {
  const std::string said = wrong.what();
  Diagnostic diagnostic{Severity::error, {name, line_of(wrong, lines)}, "this is not TOML", ""};
  for (const Cause& cause : kCauses) {
    if (said.find(cause.theirs) == std::string::npos) continue;
    diagnostic.text = cause.ours;
    diagnostic.hint = cause.hint;
    break;
  }
  return diagnostic;
}

// What the library must not get to see: it recurses, and would run out of stack.
struct Unsafe {
  enum class What { nothing, nested, many_lines };
  What what = What::nothing;
  int line = 0;
};

// The first brackets or dotted keys that are nested too deep, or text of several lines (inside of which brackets could
// not be told from real ones without reading TOML in full).
Unsafe find_unsafe(std::string_view text) {
  using What = Unsafe::What;
  int depth = 0, dots = 0, line = 1;
  char quote = 0;
  bool comment = false, escaped = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      dots = 0;
      quote = 0;
      comment = escaped = false;
    } else if (comment || escaped) {
      escaped = false;
    } else if (quote) {
      if (c == quote) quote = 0;
      escaped = c == '\\' && quote == '"';
    } else if (c == '"' || c == '\'') {
      if (text.substr(i, 3) == std::string(3, c)) return {What::many_lines, line};
      quote = c;
    } else if (c == '#') {
      comment = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return {What::nested, line};
    } else if (c == ']' || c == '}') {
      depth = std::max(depth - 1, 0);
    } else if (c == '.' && ++dots > kMostDots) {
      return {What::nested, line};
    }
  }
  return {};
}

// How many bytes the character at the beginning of `text` has; 0 if it isn't UTF-8 (RFC 3629, section 4).
size_t character_size(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && second < 0xa0;
    const bool surrogate = first == 0xed && second > 0x9f;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && second < 0x90;
    const bool beyond = first == 0xf4 && second > 0x8f;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

// The line of the first byte that isn't UTF-8, else 0. The library reads outside of its buffer when it meets one in
// quotes.
int not_utf8(std::string_view text) {
  int line = 1;
  while (!text.empty()) {
    const size_t size = character_size(text);
    if (size == 0) return line;
    line += text.front() == '\n';
    text.remove_prefix(size);
  }
  return 0;
}

TomlValue converted(const toml::value& from, int& overflow) {
  using Type = TomlValue::Type;
  TomlValue to;
  to.line = static_cast<int>(from.location().line());
  switch (from.type()) {
    case toml::value_t::boolean:
      to.type = Type::flag;
      to.flag = from.as_boolean();
      break;
    case toml::value_t::integer:
      to.type = Type::integer;
      to.integer = from.as_integer();
      if (to.integer == std::numeric_limits<int64_t>::max() || to.integer == std::numeric_limits<int64_t>::min())
        overflow = to.line;
      break;
    case toml::value_t::floating:
      to.type = Type::number;
      to.number = from.as_floating();
      break;
    case toml::value_t::string:
      to.type = Type::text;
      to.text = from.as_string().str;
      break;
    case toml::value_t::array:
      to.type = Type::list;
      for (const toml::value& item : from.as_array()) to.items.push_back(converted(item, overflow));
      break;
    case toml::value_t::table: {
      std::vector<std::pair<std::string, TomlValue>> entries;
      for (const auto& [key, value] : from.as_table()) entries.emplace_back(key, converted(value, overflow));
      std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
        return std::tie(a.second.line, a.first) < std::tie(b.second.line, b.first);
      });
      for (auto& [key, value] : entries) {
        to.keys.push_back(std::move(key));
        to.items.push_back(std::move(value));
      }
      break;
    }
    default: to.type = Type::time;
  }
  return to;
}

}  // namespace

bool is_utf8(std::string_view text) { return not_utf8(text) == 0; }

const TomlValue* TomlValue::find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key) return &items[i];
  return nullptr;
}

const char* described(TomlValue::Type type) {
  switch (type) {
    case TomlValue::Type::flag: return "true or false";
    case TomlValue::Type::integer: return "an integer";
    case TomlValue::Type::number: return "a number with a fraction";
    case TomlValue::Type::text: return "a text";
    case TomlValue::Type::list: return "a list";
    case TomlValue::Type::table: return "a table";
    case TomlValue::Type::time: return "a date or time";
  }
  return "something else";
}

Expected<TomlValue> read_toml(std::string_view text, const std::string& name) {
  if (text.size() > kMostGraphBytes)
    return failure("this is no graph file: it has more than 128 KiB", "a capture is read with -r FILE", {name, 0});
  const Unsafe unsafe = find_unsafe(text);
  if (unsafe.what == Unsafe::What::nested)
    return failure("brackets or dots are nested too deep", "close the bracket of each list and table",
                   {name, unsafe.line});
  if (unsafe.what == Unsafe::What::many_lines)
    return failure("triple quotes: a graph file holds no texts of several lines",
                   "put each text on one line, in single or double quotes", {name, unsafe.line});
  if (const int line = not_utf8(text))
    return failure("this line is not UTF-8 text", "save the file as UTF-8", {name, line});
  const int lines = 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  try {
    // The library takes a last line without an end for broken in some cases.
    std::istringstream stream(std::string(text) + "\n");
    int overflow = 0;
    TomlValue table = converted(toml::parse(stream, name), overflow);
    if (overflow) return failure("this number is too large", "numbers have 64 bits", {name, overflow});
    return table;
  } catch (const toml::exception& wrong) {
    return tl::unexpected(explained(wrong, name, lines));
  } catch (const std::exception&) {
    return failure("this is not TOML", "look for unusual characters; the file must be UTF-8 text", {name, 0});
  }
}

}  // namespace trama
