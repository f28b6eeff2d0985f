// What a run came to: its exit status, its summary for programs and its summary for people.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"
#include "engine/runtime.hpp"
#include "modules/support/input_report.hpp"
#include "modules/support/run_report.hpp"
#include "modules/support/tallied.hpp"

namespace trama {

struct RunFacts {
  std::string graph;  // SHA-256 of the canonical graph
  std::string sensor;
  double seconds = 0;  // from the first packet wanted to the last archive closed
  std::vector<InputReport> inputs;
  Tally tally;
  std::vector<std::string> archives;
  std::vector<OutletReport> outlets;
  uint64_t windows_lost = 0;
  bool output_failed = false;
  uint64_t packets_read = 0;  // by sources; for people only, where a graph gives no verdicts
  std::string busiest;        // busiest_stage(); for people only, where packets were dropped
};

RunFacts gather(const RunReport& report, const Ledger& ledger);

// 0, 1 or 3, as CONTRACT says: an input that was stopped is a loss, but no failure, even if nothing was read from it.
int exit_status(const RunFacts& facts);

// Errors where nothing could be read from an input, warnings where it ended early.
Diagnostics input_messages(const std::vector<InputReport>& inputs);

// The object that --summary writes, with a newline at the end.
std::string summary_json(const RunFacts& facts);

// A few lines in the manner of tcpdump.
std::string summary_text(const RunFacts& facts);

// The stage that held up the others the most, and how busy the workers were, as one line. `cycles`: of one core, while
// the graph ran.
std::string busiest_stage(const std::vector<StageCounters>& stages, uint64_t cycles, size_t workers);

// What each stage did, for -v. `cycles`: of one core, while the graph ran.
std::string stage_table(const std::vector<StageCounters>& stages, uint64_t cycles, size_t workers);

}  // namespace trama
