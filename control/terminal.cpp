#include "control/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "control/service_manager.hpp"
#include "engine/check.hpp"

namespace trama {
namespace {

constexpr const char* kPlain = "\x1b[0m";

struct Look {
  const char* word;
  const char* colour;
};

Look look_of(Severity severity) {
  switch (severity) {
    case Severity::error: return {"error", "\x1b[1;31m"};
    case Severity::warning: return {"warning", "\x1b[1;33m"};
    case Severity::note: return {"note", "\x1b[1;36m"};
  }
  return {"", ""};
}

void print_one(Severity severity, std::string text, std::string hint) {
  print(Diagnostic{severity, {}, std::move(text), std::move(hint)});
}

// Letters, not bytes: names may be UTF-8.
size_t width(const std::string& cell) {
  return static_cast<size_t>(
      std::count_if(cell.begin(), cell.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// Bytes of the character that `text` begins with; 0 if it is a control character or no UTF-8 (RFC 3629).
size_t visible_character(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                        : first >> 4 == 0xE              ? 3
                        : first >= 0xF0 && first <= 0xF4 ? 4
                                                         : 0;
  for (size_t i = 1; i < length; ++i)
    if (byte(i) >> 6 != 2) return 0;
  const bool control = first == 0xC2 && second < 0xA0;
  const bool too_long = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool no_character = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return control || too_long || no_character ? 0 : length;
}

}  // namespace

bool is_terminal(int fd) { return isatty(fd) == 1; }

bool has_colours(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return is_terminal(fd) && !(no_colour && *no_colour) && !(term && std::strcmp(term, "dumb") == 0);
}

size_t terminal_columns(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = visible_character(text);
    if (length > 0) {
      result += text.substr(0, length);
    } else {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(text[0]));
      result += escaped;
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

std::string diagnostic_text(const Diagnostic& diagnostic, const SourceLines& source, bool colours) {
  Diagnostic visible = diagnostic;
  visible.place.file = printable(visible.place.file);
  for (std::string* part : {&visible.text, &visible.hint}) {
    std::replace(part->begin(), part->end(), '\n', ' ');
    *part = printable(*part);
  }
  std::string text = show(visible, source);
  const Look look = look_of(diagnostic.severity);
  const size_t at = text.find(look.word);
  if (colours && at != std::string::npos) {
    text.insert(at + std::strlen(look.word) + 1, kPlain);
    text.insert(at, look.colour);
  }
  return text;
}

void print(const Diagnostic& diagnostic, const SourceLines& source) {
  std::string text = diagnostic_text(diagnostic, source, has_colours(STDERR_FILENO));
  if (is_journal(STDERR_FILENO)) text = with_journal_level(text, diagnostic.severity);
  std::fputs(text.c_str(), stderr);
}

void print(const Diagnostics& diagnostics, const SourceLines& source) {
  for (const Diagnostic& diagnostic : diagnostics) print(diagnostic, source);
}

void print_error(std::string text, std::string hint) { print_one(Severity::error, std::move(text), std::move(hint)); }
void print_warning(std::string text, std::string hint) {
  print_one(Severity::warning, std::move(text), std::move(hint));
}
void print_note(std::string text, std::string hint) { print_one(Severity::note, std::move(text), std::move(hint)); }

Diagnostic to_diagnostic(const FormatError& error, Severity severity) { return {severity, {}, error.text, error.hint}; }

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  std::vector<std::string> names;
  for (const Column& column : columns_) names.push_back(column.name);
  rows_.push_back(std::move(names));
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<size_t> widths(columns_.size());
  for (const auto& row : rows_)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - width(row[c]), ' ');
      if (c > 0) line += "  ";
      line += columns_[c].numbers ? padding + row[c] : row[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

namespace {

std::string scaled(double value, double step, std::initializer_list<const char*> units) {
  const auto* unit = units.begin();
  while (value >= step && unit + 1 != units.end()) {
    value /= step;
    ++unit;
  }
  char text[64];
  const int digits = unit == units.begin() ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f%s", digits, value, *unit);
  return text;
}

}  // namespace

bool mentions(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); !name.empty() && at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '`';
    if (begins && (end == text.size() || std::string_view(" :,`").find(text[end]) != std::string_view::npos))
      return true;
  }
  return false;
}

std::string short_number(double value) { return scaled(value, 1000, {"", " k", " M", " G", " T"}); }
std::string short_bytes(uint64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}
std::string counted(uint64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

}  // namespace trama
