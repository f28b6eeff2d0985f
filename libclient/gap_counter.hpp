// Which windows of a stream did not come. Part of subscriber.hpp, not meant for others.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace trama {

// What came before a window: told with it, then forgotten.
struct GapBefore {
  uint64_t missed = 0;
  bool restarted = false;
};

// Numbers of a run have no holes: a number that is passed over is a window that was lost.
class GapCounter {
 public:
  // With a number to begin at, windows from there on that don't come are missed; else those behind the first place.
  explicit GapCounter(std::optional<uint64_t> begin_at = std::nullopt) : begin_at_(begin_at) {}

  // A session: windows of this run from this number on will come, or be passed. A first one says where the stream
  // begins; a later one of another run says that numbers begin anew, at 0.
  void begin(uint64_t run, uint64_t number) {
    if (!run_) {
      expected_ = begin_at_.value_or(number);
    } else if (*run_ != run) {
      before_.restarted = true;
      expected_ = 0;
    }
    run_ = run;
    pass(number);
  }
  // All windows below this number have come by now, or never will.
  void pass(uint64_t number) {
    if (number <= expected_) return;
    before_.missed += number - expected_;
    expected_ = number;
  }
  // The numbers below this one have no windows.
  void leave_out(uint64_t number) { expected_ = std::max(expected_, number); }
  // Nothing for a window that has come before.
  std::optional<GapBefore> arrive(uint64_t number) {
    if (number < expected_) return std::nullopt;
    pass(number);
    expected_ = number + 1;
    return take();
  }
  // A window came and could not be read.
  void lose(const GapBefore& before) {
    before_.missed += before.missed + 1;
    before_.restarted |= before.restarted;
  }
  GapBefore take() { return std::exchange(before_, {}); }

 private:
  std::optional<uint64_t> begin_at_;
  std::optional<uint64_t> run_;
  uint64_t expected_ = 0;
  GapBefore before_;
};

}  // namespace trama
