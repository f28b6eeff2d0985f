#include "control/run_progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "control/terminal.hpp"

namespace trama {
namespace {

std::string clock_text(double seconds) {
  const auto whole = static_cast<unsigned long long>(std::min(seconds, 359999.0));
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%llu:%02llu:%02llu", whole / 3600, whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%llu:%02llu", whole / 60, whole % 60);
  return text;
}

}  // namespace

std::string progress_line(const ProgressNumbers& numbers, size_t columns) {
  const auto bytes = static_cast<double>(numbers.bytes), expected = static_cast<double>(numbers.bytes_expected);
  std::string line = short_bytes(numbers.bytes);
  const bool known = numbers.bytes_expected > 0 && numbers.bytes <= numbers.bytes_expected;
  if (known)
    line += " of " + short_bytes(numbers.bytes_expected) + " (" +
            std::to_string(static_cast<int>(100 * bytes / expected)) + " %)";
  line += ", " + short_number(static_cast<double>(numbers.packets)) + " packets";
  if (numbers.seconds > 0) {
    char rate[32];
    std::snprintf(rate, sizeof rate, ", %.2f Mpps", static_cast<double>(numbers.packets) / numbers.seconds / 1e6);
    line += rate;
  }
  if (known && numbers.bytes > 0) line += ", " + clock_text(numbers.seconds * (expected - bytes) / bytes) + " left";
  return line.substr(0, columns > 0 ? columns - 1 : 0);
}

void ProgressLine::draw(const RunReport& report, double seconds) {
  if (!wanted_) return;
  const std::string line = progress_line({report.bytes_read(), report.bytes_expected(), report.packets_read(), seconds},
                                         terminal_columns(STDERR_FILENO));
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace trama
