#include "control/status_page.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <ctime>

#include "control/engine_state_json.hpp"
#include "control/published_tally.hpp"
#include "control/terminal.hpp"

namespace trama {
namespace {

[[gnu::format(printf, 1, 2)]] std::string format(const char* form, ...) {
  char text[256];
  va_list values;
  va_start(values, form);
  std::vsnprintf(text, sizeof text, form, values);
  va_end(values);
  return text;
}

// The time between two looks; never 0.
double between(const EngineStatus& before, const EngineStatus& now) {
  return std::max(1e-3, now.seconds - before.seconds);
}

double rate(uint64_t before, uint64_t now, double seconds) {
  return now > before ? static_cast<double>(now - before) / seconds : 0;
}

std::string running_time(double seconds) {
  const auto whole = static_cast<unsigned long long>(std::max(0.0, seconds));
  return format("%llu:%02llu:%02llu", whole / 3600, whole / 60 % 60, whole % 60);
}

// Of a day, UTC.
std::string time_of_day(int64_t ns) {
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm parts{};
  if (!gmtime_r(&seconds, &parts)) return "-";
  return format("%02d:%02d:%02d", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string line(const char* name, const std::string& text) { return format("%-10s", name) + text + "\n"; }

std::string head(const EngineStatus& now) {
  std::string text = "trama " + printable(now.version) + ", process " + std::to_string(now.pid);
  if (!now.sensor.empty()) text += ", sensor " + printable(now.sensor);
  text += now.stopping ? ": stopping, after " : ": running for ";
  return text + running_time(now.seconds) + ", " + counted(now.workers, "worker") + "\n";
}

std::string reading(const EngineStatus& before, const EngineStatus& now) {
  const double seconds = between(before, now);
  std::string text = short_number(static_cast<double>(now.packets_read)) + " packets, " + short_bytes(now.bytes_read);
  if (now.bytes_expected >= now.bytes_read && now.bytes_expected > 0)
    text += format(" (%.0f %%)", 100.0 * static_cast<double>(now.bytes_read) / static_cast<double>(now.bytes_expected));
  text += "; " + short_number(rate(before.packets_read, now.packets_read, seconds)) + " packets/s, ";
  const double bytes = rate(before.bytes_read, now.bytes_read, seconds);
  return line("read", text + short_bytes(static_cast<uint64_t>(bytes)) + "/s");
}

std::string verdicts(const Tally& tally) {
  const uint64_t seen = tally.seen();
  std::string text = line("judged", counted(seen, "packet"));
  const auto add = [&](const char* name, uint64_t count) {
    if (count == 0) return;
    const double share = 100.0 * static_cast<double>(count) / static_cast<double>(seen);
    text += format("  %-14s%14llu%9.3f %%\n", name, static_cast<unsigned long long>(count), share);
  };
  for (const auto& [name, verdict] : kVerdictNames) {
    add(name, tally[verdict]);
    if (verdict == Verdict::counted) add("excluded", tally.excluded());
  }
  return text;
}

std::string losses(const EngineStatus& before, const EngineStatus& now) {
  const double seconds = between(before, now);
  std::string text;
  for (const auto& [name, value] : kDroppedNames) {
    if (!text.empty()) text += ", ";
    text += std::to_string(now.tally.*value) + " " + name;
    if (const double lost = rate(before.tally.*value, now.tally.*value, seconds); lost > 0)
      text += " (" + short_number(lost) + "/s)";
  }
  if (now.tally.removed_in_kernel > 0)
    text += "; " + std::to_string(now.tally.removed_in_kernel) + " removed in the kernel";
  return line("dropped", text);
}

std::string window_counts(const EngineStatus& before, const EngineStatus& now) {
  std::string text;
  for (const auto& [name, value] : kWindowNames) text += std::to_string(now.tally.*value) + " " + name + ", ";
  text += std::to_string(now.windows_lost) + " lost";
  const auto all = [](const Tally& tally) { return tally.full_windows + tally.partial_windows; };
  text += format("; %.2f/s; ", rate(all(before.tally), all(now.tally), between(before, now)));
  return line("windows", text + counted(now.archives, "complete archive"));
}

std::string streams(const EngineStatus& now) {
  std::string text;
  for (const OutletReport& outlet : now.outlets) {
    const OutletCounts& counts = outlet.counts;
    text += line("publish", printable(outlet.url) + ": " + counted(counts.subscribers, "subscriber") + "; " +
                                std::to_string(counts.sent) + " sent, " + std::to_string(counts.lost) +
                                " lost by slow ones");
    if (counts.not_replayed > 0)
      text.insert(text.size() - 1, ", " + std::to_string(counts.not_replayed) + " not in the archives");
    if (counts.waiting + counts.stored + counts.not_stored > 0)
      text.insert(text.size() - 1,
                  "; " + std::to_string(counts.stored) + " stored, " + std::to_string(counts.waiting) + " waiting");
    if (const uint64_t away = counts.refused + counts.shut_out; away > 0)
      text.insert(text.size() - 1, "; " + std::to_string(away) + " turned away");
  }
  return text;
}

// Busy: of one processor; a stage with replicas may have more than 100 %.
std::string stages(const EngineStatus& before, const EngineStatus& now) {
  Table table({{"stage"},
               {"kind"},
               {"items/s", true},
               {"messages", true},
               {"busy", true},
               {"queue", true},
               {"blocked", true},
               {"lost", true}});
  const double seconds = between(before, now);
  for (size_t i = 0; i < now.stages.size(); ++i) {
    const StageStatus& stage = now.stages[i];
    const ReplicaStatus sum = stage.sum();
    const ReplicaStatus earlier = i < before.stages.size() ? before.stages[i].sum() : ReplicaStatus();
    table.add({printable(stage.name), printable(stage.kind), short_number(rate(earlier.items, sum.items, seconds)),
               std::to_string(sum.messages),
               format("%.1f %%", 100 * std::max(0.0, sum.busy_s - earlier.busy_s) / seconds),
               std::to_string(stage.queue_peak), std::to_string(sum.blocked), std::to_string(stage.lost)});
  }
  return table.text();
}

std::string window_table(const std::vector<FinishedWindow>& windows, size_t most) {
  if (windows.empty() || most == 0) return "";
  Table table({{"window", true},
               {"packets", true},
               {"links", true},
               {"sources", true},
               {"dests", true},
               {"fan-out", true},
               {"fan-in", true},
               {"closed by"},
               {"at (UTC)"}});
  for (auto window = windows.rbegin(); window != windows.rend() && most > 0; ++window, --most) {
    const auto& description = window->description;
    const auto told = [&](auto member) { return description ? std::to_string((*description).*member) : "-"; };
    const auto measured = [&](auto member) {
      return window->quantities ? std::to_string((*window->quantities).*member) : "-";
    };
    const char* const reason = description ? to_string(description->closed_by) : window->partial ? "(partial)" : "full";
    table.add({std::to_string(window->seq), std::to_string(window->packets), told(&WindowDescription::links),
               told(&WindowDescription::sources), measured(&Quantities::n_destinations),
               measured(&Quantities::max_fan_out), measured(&Quantities::max_fan_in), reason,
               time_of_day(window->finished_ns)});
  }
  return "\n" + table.text();
}

}  // namespace

std::string status_page(const EngineStatus& before, const EngineStatus& now, const std::vector<FinishedWindow>& windows,
                        size_t most_windows) {
  return head(now) + reading(before, now) + verdicts(now.tally) + losses(before, now) + window_counts(before, now) +
         streams(now) + "\n" + stages(before, now) + window_table(windows, most_windows);
}

// Everything in a page is ASCII, or counted as if it were: a line with other letters is cut early, never late.
std::string fit_page(const std::string& page, size_t rows, size_t columns) {
  std::string fitted;
  size_t at = 0;
  for (size_t row = 0; row < rows && at < page.size(); ++row) {
    const size_t end = std::min(page.find('\n', at), page.size());
    size_t length = std::min(end - at, columns);
    // Not in the middle of a letter of UTF-8.
    while (length > 0 && at + length < end && (static_cast<unsigned char>(page[at + length]) & 0xC0) == 0x80) --length;
    fitted += page.substr(at, length) + "\n";
    at = end + 1;
  }
  return fitted;
}

}  // namespace trama
