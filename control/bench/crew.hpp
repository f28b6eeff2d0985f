// What `bench io` and `bench rings` have in common: threads that turn packets in memory into archives in memory, both
// ways, for several counts of something.
#pragma once
#include <functional>
#include <memory>
#include <span>

#include "control/bench/options.hpp"
#include "control/bench/traffic.hpp"
#include "control/bench/window.hpp"

namespace trama {

using MakeWorker = std::function<std::unique_ptr<WindowWorker>()>;

// The threads of one way, with their buffers, which are kept from round to round.
class Crew {
 public:
  virtual ~Crew() = default;
  virtual Expected<Cost> run(size_t count) = 0;
};
using MakeCrew = std::function<std::unique_ptr<Crew>(const Frames& frames, const MakeWorker& make_worker)>;

// Addresses of one window, as a thread that walks headers leaves them: the walk writes a pair before it knows whether
// that counts, so that one more must fit.
struct WalkedWindow {
  explicit WalkedWindow(size_t most_packets) : source(most_packets + 1), destination(most_packets + 1) {}
  WindowView view() const { return {source.data(), destination.data(), packets}; }
  // Window number `window` of the frames; false if not every packet was counted.
  bool walk(const Frames& frames, size_t window, size_t window_packets);

  std::vector<uint32_t> source, destination;
  size_t packets = 0;
};

// An archive of so few windows that many threads' archives fit into memory.
inline constexpr size_t kWindowsInMemory = 4;

// Checks that both ways make the same matrices, measures a crew of each for every count and kind of traffic, and adds
// the rows.
Expected<void> compare_crews(const BenchOptions& options, std::span<const size_t> counts, const MakeCrew& make_crew,
                             BenchReport& report);

}  // namespace trama
