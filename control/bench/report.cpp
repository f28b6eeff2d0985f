#include "control/bench/report.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "control/terminal.hpp"

namespace trama {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBusy = 1.5;  // running threads a core, beyond what a measurement has itself

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// Three figures, and never an exponent.
std::string figure(double value) { return fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0); }

std::string range(double least, double most) { return figure(least) + ".." + figure(most); }

double millions_a_second(const Series& ns) { return ns.median() > 0 ? 1e3 / ns.median() : 0; }

std::vector<std::string> cells(const BenchSide& side) {
  return {figure(side.ns.median()), range(side.ns.least(), side.ns.most()), figure(millions_a_second(side.ns)),
          side.bytes ? fixed(*side.bytes, 2) : ""};
}

std::vector<std::string> cells(const BenchRow& row) {
  std::vector<std::string> all{row.step, row.traffic, row.count > 0 ? std::to_string(row.count) : "",
                               row.clock == Clock::wall ? "wall" : "cpu", row.ours.name};
  for (std::string& cell : cells(row.ours)) all.push_back(std::move(cell));
  if (!row.baseline) return all;
  all.push_back(row.baseline->name);
  for (std::string& cell : cells(*row.baseline)) all.push_back(std::move(cell));
  const Ratio ratio = compare(row.baseline->ns, row.ours.ns);
  all.push_back(figure(ratio.of_medians));
  all.push_back(range(ratio.least, ratio.most));
  return all;
}

// Without the columns that have nothing in any row.
std::string table_text(const BenchReport& report) {
  const std::vector<Table::Column> names = {{"step"},
                                            {"traffic"},
                                            {report.count_name.empty() ? "count" : report.count_name, true},
                                            {"clock"},
                                            {"ours"},
                                            {"ns/packet", true},
                                            {"range", true},
                                            {"M packets/s", true},
                                            {"bytes/packet", true},
                                            {"baseline"},
                                            {"ns/packet", true},
                                            {"range", true},
                                            {"M packets/s", true},
                                            {"bytes/packet", true},
                                            {"ratio", true},
                                            {"range", true}};
  std::vector<std::vector<std::string>> rows;
  for (const BenchRow& row : report.rows) {
    rows.push_back(cells(row));
    rows.back().resize(names.size());
  }
  std::vector<size_t> used;
  for (size_t c = 0; c < names.size(); ++c)
    if (std::any_of(rows.begin(), rows.end(), [c](const auto& row) { return !row[c].empty(); })) used.push_back(c);
  std::vector<Table::Column> columns;
  for (const size_t c : used) columns.push_back(names[c]);
  Table table(std::move(columns));
  for (const auto& row : rows) {
    std::vector<std::string> shown;
    for (const size_t c : used) shown.push_back(row[c]);
    table.add(std::move(shown));
  }
  return table.text();
}

Json to_json(const BenchSide& side) {
  return {{"name", side.name},
          {"ns_per_packet",
           {{"median", side.ns.median()},
            {"least", side.ns.least()},
            {"most", side.ns.most()},
            {"rounds", side.ns.values()}}},
          {"packets_per_second", millions_a_second(side.ns) * 1e6},
          {"bytes_per_packet", side.bytes ? Json(*side.bytes) : Json()}};
}

Json to_json(const BenchRow& row) {
  Json json = {{"step", row.step},
               {"traffic", row.traffic.empty() ? Json() : Json(row.traffic)},
               {"count", row.count > 0 ? Json(row.count) : Json()},
               {"clock", row.clock == Clock::wall ? "wall" : "cpu"},
               {"ours", to_json(row.ours)},
               {"baseline", nullptr},
               {"ratio", nullptr}};
  if (!row.baseline) return json;
  const Ratio ratio = compare(row.baseline->ns, row.ours.ns);
  json["baseline"] = to_json(*row.baseline);
  json["ratio"] = {{"of_medians", ratio.of_medians}, {"least", ratio.least}, {"most", ratio.most}};
  return json;
}

}  // namespace

std::string report_text(const BenchReport& report) {
  const Machine& machine = report.machine;
  std::string text = "trama bench " + report.verb + ": " + report.title + "\n";
  text += "machine   " + printable(machine.processor) + ", " + std::to_string(machine.cores_allowed) + " of " +
          counted(machine.cores_online, "core") + ", " + machine.vector_target + ", " + printable(machine.kernel) +
          "\n";
  text += "program   trama " TRAMA_VERSION ", " + machine.compiler + ", " + report.time + "\n";
  text += "measured  " + counted(report.rounds, "round") + " in turn, " + counted(report.windows, "window") + " of " +
          counted(report.window_packets, "packet") + " each; medians, range; load " + fixed(machine.load, 1) +
          " before, " + fixed(report.load_after, 1) + " after\n";
  if (report.quick) text += "quick     a quick run: few windows and rounds; its figures are only a first look\n";
  text += "\n" + table_text(report) + "\n";
  for (const std::string& note : report.notes) text += note + "\n";
  if (std::max(machine.load, report.load_after) > kBusy * static_cast<double>(machine.cores_allowed))
    text += "the machine was busy with other things: `wall` figures are of little worth, `cpu` figures of some\n";
  return text;
}

std::string report_json(const BenchReport& report) {
  const Machine& machine = report.machine;
  Json json = {{"trama", TRAMA_VERSION},
               {"bench", report.verb},
               {"title", report.title},
               {"quick", report.quick},
               {"time", report.time},
               {"machine",
                {{"processor", printable(machine.processor)},
                 {"cores_allowed", machine.cores_allowed},
                 {"cores_online", machine.cores_online},
                 {"vector_target", machine.vector_target},
                 {"kernel", printable(machine.kernel)},
                 {"compiler", machine.compiler},
                 {"load_before", machine.load},
                 {"load_after", report.load_after}}},
               {"rounds", report.rounds},
               {"windows", report.windows},
               {"window_packets", report.window_packets},
               {"count_name", report.count_name.empty() ? Json() : Json(report.count_name)},
               {"notes", report.notes},
               {"rows", Json::array()}};
  for (const BenchRow& row : report.rows) json["rows"].push_back(to_json(row));
  return json.dump(2) + "\n";
}

}  // namespace trama
