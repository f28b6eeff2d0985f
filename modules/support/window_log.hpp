// The last finished windows, for whoever watches a run.
//
// The command notes each window when its number ends; stages that know more of a window or its matrix say so before
// that. Nobody waits: writers give an entry up rather than that, and readers leave out what is being written.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "libclient/formats/manifest.hpp"
#include "libclient/formats/quantities.hpp"

namespace trama {

// What a stage knows of a window.
struct WindowDescription {
  ClosedBy closed_by = ClosedBy::full;
  int64_t first_ns = 0, last_ns = 0;  // of its packets, since the epoch, UTC
  uint64_t links = 0, sources = 0;
};

struct FinishedWindow {
  uint64_t seq = 0;
  uint64_t packets = 0;
  bool partial = false;
  int64_t finished_ns = 0;  // since the epoch, UTC
  std::optional<WindowDescription> description;
  std::optional<Quantities> quantities;  // of those windows that somebody has measured
};

class WindowLog {
 public:
  static constexpr size_t kKept = 64;

  // Any thread, also in the data path: no lock, no memory. A window is described, if at all, before it is finished.
  void describe(uint64_t seq, const WindowDescription& description) noexcept {
    Slot& slot = slots_[seq % kSlots];
    if (!slot.begin()) return;
    slot.seq.store(seq, std::memory_order_release);
    slot.finished_ns.store(0, std::memory_order_release);
    slot.is_described.store(true, std::memory_order_release);
    slot.closed_by.store(description.closed_by, std::memory_order_release);
    slot.first_ns.store(description.first_ns, std::memory_order_release);
    slot.last_ns.store(description.last_ns, std::memory_order_release);
    slot.links.store(description.links, std::memory_order_release);
    slot.sources.store(description.sources, std::memory_order_release);
    slot.end();
  }
  // Also before it is finished, and from any thread.
  void measured(uint64_t seq, const Quantities& quantities) noexcept {
    Slot& slot = slots_[seq % kSlots];
    if (!slot.begin()) return;
    const auto values = std::bit_cast<QuantityValues>(quantities);
    for (size_t i = 0; i < values.size(); ++i) slot.quantities[i].store(values[i], std::memory_order_release);
    slot.measured.store(seq + 1, std::memory_order_release);
    slot.end();
  }
  // `finished_ns` isn't 0.
  void finished(uint64_t seq, uint64_t packets, bool partial, int64_t finished_ns) noexcept {
    Slot& slot = slots_[seq % kSlots];
    if (!slot.begin()) return;
    if (slot.seq.load(std::memory_order_relaxed) != seq || slot.finished_ns.load(std::memory_order_relaxed) != 0)
      slot.is_described.store(false, std::memory_order_release);
    slot.seq.store(seq, std::memory_order_release);
    slot.packets.store(packets, std::memory_order_release);
    slot.partial.store(partial, std::memory_order_release);
    slot.finished_ns.store(finished_ns, std::memory_order_release);
    slot.end();
    uint64_t newest = end_.load(std::memory_order_relaxed);
    while (newest <= seq && !end_.compare_exchange_weak(newest, seq + 1, std::memory_order_release)) {
    }
  }

  // The last ones, at most `most` and kKept, in the order of their numbers. Those that are not finished are left out.
  std::vector<FinishedWindow> last(size_t most) const;

 private:
  // More than are kept, so that a number and the one whose place it takes are hardly ever under way at once.
  static constexpr size_t kSlots = 512;
  using QuantityValues = std::array<uint64_t, sizeof(Quantities) / sizeof(uint64_t)>;

  // A value and its version: odd while it is written, so that a reader sees whether what it read is one piece.
  struct Slot {
    std::atomic<uint64_t> version{0};
    std::atomic<uint64_t> seq{0}, packets{0}, links{0}, sources{0};
    std::atomic<uint64_t> measured{0};  // the number behind the window whose quantities these are
    std::array<std::atomic<uint64_t>, std::tuple_size_v<QuantityValues>> quantities{};
    std::atomic<int64_t> first_ns{0}, last_ns{0}, finished_ns{0};
    std::atomic<bool> partial{false}, is_described{false};
    std::atomic<ClosedBy> closed_by{ClosedBy::full};

    bool begin() noexcept {
      uint64_t even = version.load(std::memory_order_relaxed);
      return even % 2 == 0 && version.compare_exchange_strong(even, even + 1, std::memory_order_acquire);
    }
    void end() noexcept { version.fetch_add(1, std::memory_order_release); }
    std::optional<FinishedWindow> read() const;
  };

  std::array<Slot, kSlots> slots_;
  std::atomic<uint64_t> end_{0};  // behind the newest finished one
};

inline std::optional<FinishedWindow> WindowLog::Slot::read() const {
  const uint64_t before = version.load(std::memory_order_acquire);
  if (before % 2 != 0) return std::nullopt;
  FinishedWindow window;
  window.seq = seq.load(std::memory_order_acquire);
  window.packets = packets.load(std::memory_order_acquire);
  window.partial = partial.load(std::memory_order_acquire);
  window.finished_ns = finished_ns.load(std::memory_order_acquire);
  if (is_described.load(std::memory_order_acquire)) {
    WindowDescription& description = window.description.emplace();
    description.closed_by = closed_by.load(std::memory_order_acquire);
    description.first_ns = first_ns.load(std::memory_order_acquire);
    description.last_ns = last_ns.load(std::memory_order_acquire);
    description.links = links.load(std::memory_order_acquire);
    description.sources = sources.load(std::memory_order_acquire);
  }
  if (measured.load(std::memory_order_acquire) == window.seq + 1) {
    QuantityValues values;
    for (size_t i = 0; i < values.size(); ++i) values[i] = quantities[i].load(std::memory_order_acquire);
    window.quantities = std::bit_cast<Quantities>(values);
  }
  if (version.load(std::memory_order_relaxed) != before || window.finished_ns == 0) return std::nullopt;
  return window;
}

inline std::vector<FinishedWindow> WindowLog::last(size_t most) const {
  const uint64_t end = end_.load(std::memory_order_acquire);
  const uint64_t kept = std::min<uint64_t>({most, kKept, end});
  std::vector<FinishedWindow> windows;
  for (uint64_t seq = end - kept; seq < end; ++seq)
    if (const auto window = slots_[seq % kSlots].read(); window && window->seq == seq) windows.push_back(*window);
  return windows;
}

}  // namespace trama
