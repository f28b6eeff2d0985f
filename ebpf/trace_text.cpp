#include "ebpf/trace_text.hpp"

#include <algorithm>
#include <charconv>

namespace trama::ebpf {
namespace {

class Line {
 public:
  explicit Line(std::span<char> room) : room_(room) {}
  void add(char c) {
    if (length_ < room_.size()) room_[length_++] = c;
  }
  void add(std::string_view text) {
    for (const char c : text) add(c);
  }
  size_t length() const { return length_; }

 private:
  std::span<char> room_;
  size_t length_ = 0;
};

struct Conversion {
  char kind = 0;
  bool zeros = false;
  size_t width = 0;
  size_t bytes = 4;   // of the argument
  size_t length = 0;  // of the conversion in the format, with '%'
};

Conversion parse(std::string_view format) {
  Conversion conversion;
  size_t at = 1;
  if (at < format.size() && format[at] == '0') conversion.zeros = true;
  for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at)
    conversion.width = std::min<size_t>(conversion.width * 10 + static_cast<size_t>(format[at] - '0'), 64);
  for (; at < format.size() && (format[at] == 'l' || format[at] == 'h'); ++at)
    conversion.bytes = format[at] == 'l' ? 8 : conversion.bytes / 2;
  if (at < format.size()) conversion.kind = format[at++];
  conversion.length = at;
  return conversion;
}

std::string_view digits_of(const Conversion& conversion, uint64_t argument, std::span<char, 32> room) {
  const size_t bits = std::max<size_t>(conversion.bytes, 1) * 8;
  const uint64_t value = bits == 64 ? argument : argument & ((uint64_t{1} << bits) - 1);
  char* const first = room.data();
  std::to_chars_result end{};
  switch (conversion.kind) {
    case 'd':
    case 'i': {
      const auto shift = 64 - bits;
      end = std::to_chars(first, first + room.size(), static_cast<int64_t>(value << shift) >> shift);
      break;
    }
    case 'x':
    case 'X':
    case 'p': end = std::to_chars(first, first + room.size(), value, 16); break;
    case 'o': end = std::to_chars(first, first + room.size(), value, 8); break;
    default: end = std::to_chars(first, first + room.size(), value);
  }
  if (conversion.kind == 'X')
    std::transform(first, end.ptr, first, [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  return {first, static_cast<size_t>(end.ptr - first)};
}

}  // namespace

size_t trace_text(std::span<char> room, std::string_view format, const std::array<uint64_t, 3>& arguments) noexcept {
  constexpr std::string_view kNumbers = "diuxXop";
  format = format.substr(0, format.find('\0'));
  if (format.ends_with('\n')) format.remove_suffix(1);
  Line line(room);
  size_t next = 0;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      line.add(format[at++]);
      continue;
    }
    Conversion conversion = parse(format.substr(at));
    const std::string_view source = format.substr(at, conversion.length);
    at += conversion.length;
    if (conversion.kind == '%') {
      line.add('%');
    } else if (next == arguments.size() ||
               (conversion.kind != 'c' && kNumbers.find(conversion.kind) == kNumbers.npos)) {
      line.add(source);
    } else if (conversion.kind == 'c') {
      line.add(static_cast<char>(arguments[next++]));
    } else {
      if (conversion.kind == 'p') conversion.bytes = 8;
      std::array<char, 32> digits;
      const std::string_view text = digits_of(conversion, arguments[next++], digits);
      for (size_t fill = text.size(); fill < conversion.width; ++fill) line.add(conversion.zeros ? '0' : ' ');
      line.add(text);
    }
  }
  return line.length();
}

}  // namespace trama::ebpf
