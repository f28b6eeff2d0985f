// What people read: diagnostics and tables on a terminal or in a log.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "engine/diagnostic.hpp"
#include "engine/graph_spec.hpp"
#include "libclient/formats/error.hpp"

namespace trama {

bool is_terminal(int fd);

// Colours are for a terminal that isn't "dumb", and never where NO_COLOR is set and not empty (no-color.org).
bool has_colours(int fd);

// Columns of the terminal; 80 when it doesn't say.
size_t terminal_columns(int fd);

// Control characters as \xNN, byte by byte: newlines and tabs too, U+0080 to U+009F, and bytes that are not UTF-8,
// which some terminals take for the latter. Names of files and of members of archives come from anywhere, and must not
// move the cursor, change its colour or forge a line.
std::string printable(std::string_view text);

// show() of engine/check.hpp ("trama: error: FILE:LINE: text"), with a colour for the severity where asked for.
std::string diagnostic_text(const Diagnostic& diagnostic, const SourceLines& source, bool colours);

// The same, on stderr; with levels for the journal where that is behind it.
void print(const Diagnostic& diagnostic, const SourceLines& source = {});
void print(const Diagnostics& diagnostics, const SourceLines& source = {});

void print_error(std::string text, std::string hint = "");
void print_warning(std::string text, std::string hint = "");
void print_note(std::string text, std::string hint = "");
Diagnostic to_diagnostic(const FormatError& error, Severity severity = Severity::error);

// Columns as wide as their widest cell, two spaces between them, nothing behind the last one. `numbers`: flush right.
class Table {
 public:
  struct Column {
    std::string name;
    bool numbers = false;
  };
  explicit Table(std::vector<Column> columns);
  void add(std::vector<std::string> cells);  // one for each column
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// True if `text` names the file already, so that it needn't stand in front as well.
bool mentions(std::string_view text, std::string_view name);

// 1234567 as "1.23 M" with three figures; below 1000 as it is. For people only.
std::string short_number(double value);
// "1.5 MiB"
std::string short_bytes(uint64_t bytes);
// "2500 packets", "1 packet"
std::string counted(uint64_t count, const std::string& thing);

}  // namespace trama
