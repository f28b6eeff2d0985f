#include "control/summary.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "control/command_line.hpp"
#include "control/outlet_json.hpp"
#include "control/terminal.hpp"

namespace trama {
namespace {

using Json = nlohmann::ordered_json;

bool has_failed(const InputReport& input) {
  return input.status != InputStatus::ok && input.status != InputStatus::interrupted && !input.readable;
}

uint64_t dropped(const Tally& tally) { return tally.dropped_kernel + tally.dropped_nic + tally.dropped_ring; }

struct VerdictLine {
  uint64_t count;
  const char* name;
  const char* why;
};

std::vector<VerdictLine> verdict_lines(const Tally& tally) {
  return {{tally.excluded(), "excluded", "privacy ranges and filters that could not judge"},
          {tally[Verdict::filtered], "filtered", "rejected by the filter"},
          {tally[Verdict::ipv6], "ipv6", "outermost IP header is IPv6"},
          {tally[Verdict::not_ip], "not_ip", "ARP, LLC and the like"},
          {tally[Verdict::malformed], "malformed", "impossible IP header"},
          {tally[Verdict::cut], "cut", "captured bytes end before the IP header does"},
          {tally[Verdict::unknown_link], "unknown_link", "link type that isn't walked"}};
}

std::string windows_text(const Tally& tally) {
  std::string text = counted(tally.full_windows + tally.partial_windows, "window");
  if (tally.partial_windows > 0) text += " (" + std::to_string(tally.partial_windows) + " partial)";
  return text;
}

std::string archives_text(const std::vector<std::string>& archives) {
  if (archives.empty()) return "";
  std::string folder = std::filesystem::path(archives.front()).parent_path().string();
  if (folder.empty()) folder = ".";
  return counted(archives.size(), "archive") + " in " + printable(folder) + "\n";
}

// What others have lost is no failure of this run, and what nobody got live is in its archives.
std::string streams_text(const std::vector<OutletReport>& outlets) {
  std::string text;
  for (const OutletReport& outlet : outlets) {
    const std::string name = "`" + printable(outlet.stage) + "`";
    if (outlet.passed_by > 0)
      text += counted(outlet.passed_by, "window") + " passed " + name + " by, and were not published\n";
    if (outlet.counts.lost > 0)
      text += counted(outlet.counts.lost, "window") + " of " + name + " lost by slow subscribers\n";
    if (outlet.counts.not_replayed > 0)
      text += counted(outlet.counts.not_replayed, "older window") + " of " + name +
              " not in the archives any more, or not yet\n";
    if (outlet.counts.too_long > 0)
      text += counted(outlet.counts.too_long, "window") + " of " + name + " longer than its max_bytes, and not sent\n";
    if (outlet.counts.not_stored > 0)
      text += counted(outlet.counts.not_stored, "window") + " of " + name + " not known to be stored\n";
  }
  return text;
}

std::string rate_text(uint64_t packets, double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f s", seconds);
  std::string result = text;
  if (packets > 0 && seconds > 0) result += ", " + short_number(static_cast<double>(packets) / seconds) + " packets/s";
  return result + "\n";
}

}  // namespace

RunFacts gather(const RunReport& report, const Ledger& ledger) {
  RunFacts facts;
  facts.inputs = report.inputs();
  facts.tally = ledger.sum();
  facts.archives = report.archives();
  facts.outlets = report.outlets();
  facts.windows_lost = report.windows_lost();
  facts.output_failed = report.has_output_failed();
  facts.packets_read = report.packets_read();
  return facts;
}

int exit_status(const RunFacts& facts) {
  const auto& inputs = facts.inputs;
  if (facts.output_failed) return kFailed;
  if (!inputs.empty() && std::all_of(inputs.begin(), inputs.end(), has_failed)) return kFailed;
  const bool lost = std::any_of(inputs.begin(), inputs.end(),
                                [](const InputReport& input) { return input.status != InputStatus::ok; }) ||
                    dropped(facts.tally) > 0 || facts.windows_lost > 0;
  return lost ? kLossy : kDone;
}

Diagnostics input_messages(const std::vector<InputReport>& inputs) {
  Diagnostics messages;
  for (const InputReport& input : inputs) {
    if (input.status == InputStatus::ok) continue;
    const std::string name = input.name == "-" ? "standard input" : input.name;
    std::string text = input.detail.empty() ? std::string(to_string(input.status)) : input.detail;
    const bool named = input.name != "-" && mentions(text, input.name);
    const std::string hint = input.status == InputStatus::interrupted || has_failed(input)
                                 ? ""
                                 : "its " + counted(input.packets, "packet") + " before that were taken";
    messages.push_back({has_failed(input) ? Severity::error : Severity::warning, named ? Place{} : Place{name, 0},
                        std::move(text), hint});
  }
  return messages;
}

std::string summary_json(const RunFacts& facts) {
  const Tally& tally = facts.tally;
  Json json;
  json["trama"] = TRAMA_VERSION;
  json["graph"] = facts.graph;
  json["sensor"] = facts.sensor;
  json["seconds"] = std::round(facts.seconds * 1e6) / 1e6;
  json["inputs"] = Json::array();
  for (const InputReport& input : facts.inputs)
    json["inputs"].push_back({{"name", input.name},
                              {"packets", input.packets},
                              {"bytes", input.bytes},
                              {"status", to_string(input.status)},
                              {"detail", input.detail}});
  json["packets"] = {{"seen", tally.seen()},
                     {"counted", tally[Verdict::counted]},
                     {"excluded", tally.excluded()},
                     {"filtered", tally[Verdict::filtered]},
                     {"ipv6", tally[Verdict::ipv6]},
                     {"not_ip", tally[Verdict::not_ip]},
                     {"malformed", tally[Verdict::malformed]},
                     {"cut", tally[Verdict::cut]},
                     {"unknown_link", tally[Verdict::unknown_link]}};
  json["excluded_by"] = {{"range", tally[Verdict::excluded_range]},
                         {"module", tally[Verdict::excluded_module]},
                         {"fault", tally[Verdict::excluded_fault]}};
  json["dropped"] = {{"kernel", tally.dropped_kernel}, {"nic", tally.dropped_nic}, {"ring", tally.dropped_ring}};
  json["removed_in_kernel"] = tally.removed_in_kernel;
  json["windows"] = {{"full", tally.full_windows}, {"partial", tally.partial_windows}};
  json["archives"] = facts.archives;
  if (!facts.outlets.empty()) json["streams"] = outlets_json(facts.outlets);
  // File names needn't be UTF-8, but JSON must.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string summary_text(const RunFacts& facts) {
  const Tally& tally = facts.tally;
  // A graph without `parse` judges nothing.
  if (tally == Tally() && facts.packets_read > 0)
    return counted(facts.packets_read, "packet") + " passed on\n" + archives_text(facts.archives) +
           rate_text(facts.packets_read, facts.seconds);
  std::string text = counted(tally.seen(), "packet") + " seen, " + std::to_string(tally[Verdict::counted]) +
                     " counted in " + windows_text(tally) + "\n";
  for (const VerdictLine& line : verdict_lines(tally))
    if (line.count > 0) text += std::to_string(line.count) + " " + line.name + " (" + line.why + ")\n";
  if (tally.dropped_kernel > 0) text += counted(tally.dropped_kernel, "packet") + " dropped by the kernel\n";
  if (tally.dropped_nic > 0) text += counted(tally.dropped_nic, "packet") + " dropped by the interface\n";
  if (tally.dropped_ring > 0) text += counted(tally.dropped_ring, "packet") + " dropped in a ring\n";
  if (tally.removed_in_kernel > 0) text += counted(tally.removed_in_kernel, "packet") + " removed in the kernel\n";
  if (dropped(tally) > 0 && !facts.busiest.empty()) text += facts.busiest + "\n";
  if (facts.windows_lost > 0) text += counted(facts.windows_lost, "window") + " lost: not written\n";
  return text + streams_text(facts.outlets) + archives_text(facts.archives) + rate_text(tally.seen(), facts.seconds);
}

std::string busiest_stage(const std::vector<StageCounters>& stages, uint64_t cycles, size_t workers) {
  if (cycles == 0 || workers == 0) return "";
  const StageCounters* busiest = nullptr;
  double most = 0, all = 0;
  for (const StageCounters& stage : stages) {
    double busy = 0;
    for (const ReplicaCounters& replica : stage.replicas) busy += static_cast<double>(replica.busy_cycles);
    all += busy;
    // Of the time that its replicas could have worked.
    const double share = busy / static_cast<double>(std::clamp<size_t>(stage.replicas.size(), 1, workers));
    if (busiest && share <= most) continue;
    busiest = &stage;
    most = share;
  }
  if (!busiest) return "";
  const auto percent = [&](double busy) {
    return std::to_string(std::lround(100 * busy / static_cast<double>(cycles))) + " % of the time";
  };
  return "busiest stage: " + busiest->name + ", " + percent(most) + "; " + counted(workers, "worker") + " busy " +
         percent(all / static_cast<double>(workers));
}

std::string stage_table(const std::vector<StageCounters>& stages, uint64_t cycles, size_t workers) {
  Table table({{"stage"},
               {"kind"},
               {"replicas", true},
               {"messages", true},
               {"items", true},
               {"busy", true},
               {"queue", true},
               {"lost", true}});
  const double all = static_cast<double>(cycles) * static_cast<double>(std::max<size_t>(1, workers));
  for (const StageCounters& stage : stages) {
    ReplicaCounters sum;
    for (const ReplicaCounters& replica : stage.replicas) {
      sum.messages += replica.messages;
      sum.items += replica.items;
      sum.busy_cycles += replica.busy_cycles;
    }
    char busy[16];
    std::snprintf(busy, sizeof busy, "%.1f %%", all > 0 ? 100 * static_cast<double>(sum.busy_cycles) / all : 0);
    table.add({stage.name, stage.kind, std::to_string(stage.replicas.size()), std::to_string(sum.messages),
               std::to_string(sum.items), busy, std::to_string(stage.queue_peak), std::to_string(stage.lost)});
  }
  return table.text();
}

}  // namespace trama
