// trama bench io: pairs of threads, one receiving and one building.
//
// The receiving thread walks the headers of packets that stand in memory, as a network card leaves them, and fills
// windows with their addresses; the building one makes of each window a matrix, its blob, and a member of an archive in
// memory. Between the two is a ring of windows. Bergeron et al., "Hypersparse Traffic Matrix Construction using
// GraphBLAS on a DPU" (2023), measured building alone and with input. The two ways differ in the building only.
#include <algorithm>
#include <array>
#include <semaphore>

#include "control/bench/crew.hpp"

namespace trama {
namespace {

constexpr std::array<size_t, 4> kPairCounts = {1, 2, 4, 8};
constexpr size_t kSlots = 4;

// A ring of windows from one thread to one other. Its semaphores cost nothing beside a window, which takes 1 ms.
class WindowRing {
 public:
  explicit WindowRing(size_t window_packets) : window_packets_(window_packets) {
    for (size_t i = 0; i < kSlots; ++i) slots_.emplace_back(window_packets);
  }
  // The receiving thread.
  bool receive(const Frames& frames, size_t window) {
    free_.acquire();
    const bool whole = slots_[written_++ % kSlots].walk(frames, window, window_packets_);
    filled_.release();
    return whole;
  }
  // The building thread. It takes every window, also when it has failed, or the other one would wait for ever.
  bool build(WindowWorker& worker, MemoryTar& tar) {
    filled_.acquire();
    const bool built = tar.append(worker.blob_of(slots_[read_++ % kSlots].view()));
    free_.release();
    return built;
  }

 private:
  const size_t window_packets_;
  std::vector<WalkedWindow> slots_;
  std::counting_semaphore<kSlots> free_{kSlots}, filled_{0};
  size_t written_ = 0, read_ = 0;
};

class PairsOfThreads final : public Crew {
 public:
  PairsOfThreads(const BenchOptions& options, const Frames& frames, const MakeWorker& make_worker)
      : options_(options), frames_(frames) {
    for (size_t i = 0; i < kPairCounts.back(); ++i)
      pairs_.push_back(std::make_unique<Pair>(options.window_packets, make_worker()));
  }

  Expected<Cost> run(size_t count) override {
    return run_instances(InstanceKind::threads, 2 * count, options_.packets(), [&](size_t instance) -> InstanceWork {
      Pair& pair = *pairs_[instance / 2];
      const size_t windows = share(options_.windows, count, instance / 2);
      if (instance % 2 == 0) return [&, windows, first = instance] { return receive(pair, first, windows); };
      return [&pair, windows] { return build(pair, windows); };
    });
  }

 private:
  struct Pair {
    Pair(size_t window_packets, std::unique_ptr<WindowWorker> way)
        : ring(window_packets), worker(std::move(way)), tar(kWindowsInMemory, window_packets) {}
    WindowRing ring;
    std::unique_ptr<WindowWorker> worker;
    MemoryTar tar;
  };

  bool receive(Pair& pair, size_t first, size_t windows) {
    bool whole = true;
    for (size_t i = 0; i < windows; ++i) whole = pair.ring.receive(frames_, first + i) && whole;
    return whole;
  }
  static bool build(Pair& pair, size_t windows) {
    bool built = true;
    for (size_t i = 0; i < windows; ++i) built = pair.ring.build(*pair.worker, pair.tar) && built;
    return built;
  }

  const BenchOptions& options_;
  const Frames& frames_;
  std::vector<std::unique_ptr<Pair>> pairs_;
};

}  // namespace

Expected<void> bench_io(const BenchOptions& options, BenchReport& report) {
  report.title = "pairs of threads, one receiving and one building";
  report.count_name = "pairs";
  report.x_label = "pairs of threads, one receiving and one building";
  return compare_crews(
      options, kPairCounts,
      [&](const Frames& frames, const MakeWorker& make_worker) {
        return std::make_unique<PairsOfThreads>(options, frames, make_worker);
      },
      report);
}

}  // namespace trama
