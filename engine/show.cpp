// Diagnostics as the command prints them.
#include <algorithm>
#include <cctype>

#include "engine/check.hpp"
#include "engine/toml_text.hpp"

namespace trama {
namespace {

constexpr size_t kLongestLine = 160;
constexpr size_t kKeyDigits = 32;  // half a key, or an AES-128 key: no graph needs so many in a row

// Graph files come from others: what would move the cursor or change colours of a terminal becomes a space. Beside the
// ASCII control characters these are U+0080..U+009F, whether written as UTF-8 (0xc2 and one byte) or as a lone byte.
std::string printable(std::string_view text) {
  std::string result(text);
  unsigned char before = 0;
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    const bool ascii_control = byte < 0x20 || byte == 0x7f;
    const bool other_control = byte >= 0x80 && byte < 0xa0 && (before < 0x80 || before == 0xc2);
    if (ascii_control || other_control) c = ' ';
    before = byte;
  }
  return result;
}

// Without white space at both ends, and not longer than a few lines of a terminal.
std::string shortened(const std::string& line) {
  const std::string text = printable(line);
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  std::string middle = text.substr(begin, text.find_last_not_of(' ') - begin + 1);
  if (middle.size() <= kLongestLine) return middle;
  size_t end = kLongestLine;
  while (end > 0 && (static_cast<unsigned char>(middle[end]) & 0xc0) == 0x80) --end;  // not inside a UTF-8 character
  return middle.substr(0, end) + " ...";
}

bool is_digit(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

// A key file may have been given for a graph file, or its content been written into one.
std::string without_keys(const std::string& line) {
  std::string result;
  for (auto at = line.begin(); at != line.end();) {
    auto end = std::find_if_not(at, line.end(), is_digit);
    if (end == at) end = std::find_if(at, line.end(), is_digit);
    if (is_digit(*at) && static_cast<size_t>(end - at) >= kKeyDigits) {
      result += "\u2026";
    } else {
      result.append(at, end);
    }
    at = end;
  }
  return result;
}

// A URL may have a user and a password in it. The last `@` counts, should the password have one.
std::string without_logins(const std::string& line) {
  std::string result = line;
  for (size_t at = 0; (at = result.find("://", at)) != std::string::npos; at += 3) {
    const size_t login = at + 3, end = std::min(result.find_first_of(" \"'", login), result.size());
    const size_t sign = std::string_view(result).substr(0, end).rfind('@');
    if (sign != std::string::npos && sign >= login) result.replace(login, sign - login, "\u2026");
  }
  return result;
}

// The line that the diagnostic is about, as it may be seen; empty when there is none.
std::string shown_line(const Place& place, const SourceLines& source) {
  if (place.file != source.file || place.line < 1 || static_cast<size_t>(place.line) > source.lines.size()) return "";
  const std::string& line = source.lines[static_cast<size_t>(place.line) - 1];
  const bool text = is_utf8(line) && line.find('\0') == std::string::npos;
  return text ? shortened(without_keys(without_logins(line))) : "";
}

const char* word(Severity severity) {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::note: return "note";
  }
  return "error";
}

}  // namespace

std::string show(const Diagnostic& diagnostic, const SourceLines& source) {
  const Place& place = diagnostic.place;
  std::string text = std::string("trama: ") + word(diagnostic.severity) + ": ";
  if (!place.file.empty()) text += printable(place.file) + ":";
  if (!place.file.empty() && place.line > 0) text += std::to_string(place.line) + ":";
  if (!place.file.empty()) text += " ";
  text += printable(diagnostic.text) + "\n";
  if (const std::string line = shown_line(place, source); !line.empty()) text += "    " + line + "\n";
  if (!diagnostic.hint.empty()) text += "    hint: " + printable(diagnostic.hint) + "\n";
  return text;
}

}  // namespace trama
