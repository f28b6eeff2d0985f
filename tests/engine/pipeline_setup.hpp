// What a run of the test pipeline is told and leaves behind, its messages, and what holds its replicas up.
#pragma once
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "engine/cycles.hpp"
#include "engine/message.hpp"
#include "engine/plan.hpp"

namespace trama {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x1234567) { (*this)(2); }
  size_t operator()(size_t below) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<size_t>((state_ >> 11) % below);
  }

 private:
  uint64_t state_;
};

struct PipelineSetup {
  uint64_t seed = 1;
  size_t batches = 50;
  size_t batch_most = 32;  // values in a batch
  size_t window = 64;      // values in a window
  size_t replicas = 1, workers = 1, batch_credits = 4, window_credits = 4;
  Route route = Route::any;
  bool delays = false;
};

inline PipelineSetup draw_setup(uint64_t seed) {
  Random random(seed);
  PipelineSetup setup;
  setup.seed = seed;
  setup.batches = 20 + random(100);
  setup.batch_most = 1 + random(64);
  setup.window = 8 + random(120);
  setup.replicas = 1 + random(4);
  setup.workers = 1 + random(8);
  setup.batch_credits = 1 + random(8);
  setup.window_credits = 1 + random(8);
  setup.route = random(4) == 0 ? Route::by_window : Route::any;
  setup.delays = true;
  return setup;
}

// What a sink has seen.
struct SinkRecord {
  std::string name = {};
  uint64_t hash = 14695981039346656037u;  // FNV-1a over numbers, skips and values
  uint64_t messages = 0;
  bool in_order = true;
  bool operator==(const SinkRecord& other) const {
    return hash == other.hash && messages == other.messages && in_order && other.in_order;
  }
};

// One run: what its stages are told, and what its sinks have seen.
struct PipelineRun {
  PipelineSetup setup;
  std::vector<SinkRecord> sinks = {};
  std::atomic<uint64_t> sum{0};
};

// Base of the replicated stages: holds its replica up at random.
class Delayed {
 public:
  Delayed(const PipelineRun& run, const std::string& stage, size_t replica)
      : random_(run.setup.seed * 1000 + std::hash<std::string>()(stage) % 97 * 8 + replica),
        delays_(run.setup.delays) {}
  void delay() {
    if (!delays_) return;
    switch (random_(16)) {
      case 0: std::this_thread::yield(); break;
      case 1: std::this_thread::sleep_for(std::chrono::microseconds(random_(60))); break;
      default:
        for (size_t n = random_(400); n > 0; --n) relax();
    }
  }

 private:
  Random random_;
  bool delays_;
};

struct Numbers : Message {
  static constexpr const char* kName = "Numbers";
  explicit Numbers(const Sizes& sizes) : value(sizes.batch_items) {}
  std::vector<uint32_t> value;
};
struct Chosen : Message {
  static constexpr const char* kName = "Chosen";
  explicit Chosen(const Sizes& sizes) : value(sizes.batch_items) {}
  std::vector<uint32_t> value;
};
struct Heap : Message {
  static constexpr const char* kName = "Heap";
  explicit Heap(const Sizes& sizes) : value(sizes.window_items) {}
  std::vector<uint32_t> value;
};
struct Built : Message {
  static constexpr const char* kName = "Built";
  explicit Built(const Sizes& sizes) : value(sizes.window_items) {}
  std::vector<uint32_t> value;
};

}  // namespace trama
