// The line that says how far a run is: on a terminal only, redrawn in place.
#pragma once
#include <cstdint>
#include <string>

#include "modules/support/run_report.hpp"

namespace trama {

struct ProgressNumbers {
  uint64_t bytes = 0, bytes_expected = 0;  // 0 expected: not known
  uint64_t packets = 0;
  double seconds = 0;
};

// At most `columns` - 1 letters, so that no terminal wraps it.
std::string progress_line(const ProgressNumbers& numbers, size_t columns);

class ProgressLine {
 public:
  explicit ProgressLine(bool wanted) : wanted_(wanted) {}
  ~ProgressLine() { clear(); }
  void draw(const RunReport& report, double seconds);
  void clear();  // before anything else is printed

 private:
  const bool wanted_;
  bool drawn_ = false;
};

}  // namespace trama
