// trama bench rings: packets that are spread over 1 to 16 rings, and threads that empty them.
//
// "GraphBLAS on the Edge" (Jones et al., IEEE HPEC 2022) measured how many packets a second the cores of a server turn
// into matrices, for varying numbers of traffic buffers, threads and cores. Here the rings are memory, and always full:
// a thread takes the next window of a ring, walks its headers, and makes matrix, blob and archive member of it. Threads
// begin at different rings and help with the others when theirs is empty.
#include <array>
#include <atomic>

#include "control/bench/crew.hpp"

namespace trama {
namespace {

constexpr std::array<size_t, 5> kRingCounts = {1, 2, 4, 8, 16};

class Rings {
 public:
  Rings(size_t rings, size_t windows) : rings_(rings) {
    for (size_t r = 0; r < rings; ++r) rings_[r].windows = share(windows, rings, r);
  }
  size_t count() const { return rings_.size(); }
  // The number of the next window of a ring among all its windows; false when it is empty. Any thread.
  bool take(size_t r, size_t& window) {
    window = rings_[r].taken.fetch_add(1, std::memory_order_relaxed);
    return window < rings_[r].windows;
  }

 private:
  struct alignas(64) Ring {
    std::atomic<size_t> taken{0};
    size_t windows = 0;
  };
  std::vector<Ring> rings_;
};

class RingThreads final : public Crew {
 public:
  RingThreads(const BenchOptions& options, const Frames& frames, const MakeWorker& make_worker)
      : options_(options), frames_(frames) {
    for (size_t i = 0; i < options.workers; ++i)
      threads_.push_back(std::make_unique<Thread>(options.window_packets, make_worker()));
  }

  Expected<Cost> run(size_t count) override {
    Rings rings(count, options_.windows);
    return run_instances(InstanceKind::threads, threads_.size(), options_.packets(), [&](size_t t) -> InstanceWork {
      return [&, t] { return empty_all(*threads_[t], rings, t); };
    });
  }

 private:
  struct Thread {
    Thread(size_t window_packets, std::unique_ptr<WindowWorker> way)
        : walked(window_packets), worker(std::move(way)), tar(kWindowsInMemory, window_packets) {}
    WalkedWindow walked;
    std::unique_ptr<WindowWorker> worker;
    MemoryTar tar;
  };

  bool empty_all(Thread& thread, Rings& rings, size_t first) {
    bool built = true;
    for (size_t i = 0; i < rings.count(); ++i) {
      const size_t r = (first + i) % rings.count();
      for (size_t window = 0; rings.take(r, window);)
        built = thread.walked.walk(frames_, r + window, options_.window_packets) &&
                thread.tar.append(thread.worker->blob_of(thread.walked.view())) && built;
    }
    return built;
  }

  const BenchOptions& options_;
  const Frames& frames_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace

Expected<void> bench_rings(const BenchOptions& options, BenchReport& report) {
  const std::string threads = options.workers == 1 ? "1 thread" : std::to_string(options.workers) + " threads";
  report.title = "packets from 1 to 16 rings, emptied by " + threads;
  report.count_name = "rings";
  report.x_label = "rings, emptied by " + threads;
  return compare_crews(
      options, kRingCounts,
      [&](const Frames& frames, const MakeWorker& make_worker) {
        return std::make_unique<RingThreads>(options, frames, make_worker);
      },
      report);
}

}  // namespace trama
