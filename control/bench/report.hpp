// What a measurement came to, and its two forms for reading: a table, and JSON. bench_plot.hpp has the third.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/bench/rounds.hpp"
#include "control/machine.hpp"

namespace trama {

enum class Clock { wall, cpu };

// One way of doing a step, and what a packet costs so.
struct BenchSide {
  std::string name;
  Series ns;                    // a packet, a value a round
  std::optional<double> bytes;  // of output, a packet
};

// A step, ours and what it is compared with. Both were measured in the same rounds, on the same traffic.
struct BenchRow {
  std::string step;
  std::string traffic;  // "U" or "Z"; empty where it makes no difference
  size_t count = 0;     // of what BenchReport::count_name says; 0: no such thing
  Clock clock = Clock::wall;
  BenchSide ours;
  std::optional<BenchSide> baseline;
};

struct BenchReport {
  std::string verb, title;
  std::string count_name;  // "rings", ...: what rows with a count differ in
  std::string x_label;     // of an axis with that; empty: the figure has bars, one for each row
  bool quick = false;
  size_t rounds = 0, windows = 0, window_packets = 0;
  std::string time;  // UTC, "2026-11-30T20:00:00Z"
  Machine machine;
  double load_after = 0;
  std::vector<std::string> notes;
  std::vector<BenchRow> rows;
};

std::string report_text(const BenchReport& report);
// {"trama", "bench", "title", "quick", "time", "machine": {...}, "rounds", "windows", "window_packets", "notes": [...],
//  "rows": [{"step", "traffic", "count", "clock": "wall|cpu", "ours": SIDE, "baseline": SIDE or null,
//            "ratio": {"of_medians", "least", "most"} or null}]}
// SIDE: {"name", "ns_per_packet": {"median", "least", "most", "rounds": [...]}, "packets_per_second",
// "bytes_per_packet"}
std::string report_json(const BenchReport& report);

}  // namespace trama
