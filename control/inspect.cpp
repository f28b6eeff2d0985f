// trama inspect: the network quantities of each window, and of the sum of all.
#include <array>
#include <nlohmann/json.hpp>

#include "control/archive_input.hpp"
#include "control/data_output.hpp"
#include "control/quantity_names.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "libclient/formats/matrix_sum.hpp"
#include "libclient/formats/quantities.hpp"

namespace trama {
namespace {

// Writes windows as they come: archives may hold more of them than memory does.
class Report {
 public:
  explicit Report(DataOutput& output) : output_(output) {}
  virtual ~Report() = default;
  virtual void begin() = 0;
  virtual void window(uint64_t seq, const std::string& member, const Quantities& quantities) = 0;
  virtual void total(const Quantities& quantities) = 0;

 protected:
  DataOutput& output_;
};

class JsonReport final : public Report {
 public:
  using Report::Report;
  void begin() override { output_.write("{\"windows\": ["); }
  void window(uint64_t seq, const std::string& member, const Quantities& quantities) override {
    nlohmann::ordered_json object{{"seq", seq}, {"member", member}};
    for (const QuantityName& quantity : kQuantityNames) object[quantity.name] = quantities.*quantity.value;
    output_.write(first_ ? "\n  " : ",\n  ");
    output_.write(text(object));
    first_ = false;
  }
  void total(const Quantities& quantities) override {
    nlohmann::ordered_json object;
    for (const QuantityName& quantity : kQuantityNames) object[quantity.name] = quantities.*quantity.value;
    output_.write(first_ ? "],\n \"total\": " : "\n ],\n \"total\": ");
    output_.write(text(object) + "}\n");
  }

 private:
  // In ASCII, so that no name in it can do anything to a terminal.
  static std::string text(const nlohmann::ordered_json& object) {
    return object.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  }
  bool first_ = true;
};

class CsvReport final : public Report {
 public:
  using Report::Report;
  void begin() override {
    output_.write("seq,member");
    for (const QuantityName& quantity : kQuantityNames) output_.write(std::string(",") + quantity.name);
    output_.write("\n");
  }
  void window(uint64_t seq, const std::string& member, const Quantities& quantities) override {
    line(std::to_string(seq), member, quantities);
  }
  void total(const Quantities& quantities) override { line("total", "", quantities); }

 private:
  void line(const std::string& seq, const std::string& member, const Quantities& quantities) {
    output_.write(seq + "," + quoted(printable(member)));
    for (const QuantityName& quantity : kQuantityNames) {
      output_.write(',');
      output_.number(quantities.*quantity.value);
    }
    output_.write("\n");
  }
  // RFC 4180. Of printable text, so that a line is a line.
  static std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"") == std::string::npos) return text;
    std::string result = "\"";
    for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
    return result + "\"";
  }
};

// Columns as wide as their names: enough for a window, and the lines can be written as they come.
class TableReport final : public Report {
 public:
  using Report::Report;
  void begin() override {
    std::string line = cell("seq", kNameColumn) + cell("member", kNameColumn);
    for (const QuantityName& quantity : kQuantityNames) line += cell(quantity.name, width(quantity));
    output_.write(line + "\n");
  }
  void window(uint64_t seq, const std::string& member, const Quantities& quantities) override {
    line(std::to_string(seq), printable(member), quantities);
    output_.flush();
  }
  void total(const Quantities& quantities) override { line("total", "", quantities); }

 private:
  static constexpr size_t kNameColumn = 8;
  static size_t width(const QuantityName& quantity) {
    return std::max<size_t>(12, std::string_view(quantity.name).size() + 2);
  }
  static std::string cell(const std::string& text, size_t columns) {
    return text.size() < columns ? std::string(columns - text.size(), ' ') + text : "  " + text;
  }
  void line(const std::string& seq, const std::string& member, const Quantities& quantities) {
    std::string text = cell(seq, kNameColumn) + cell(member, kNameColumn);
    for (const QuantityName& quantity : kQuantityNames)
      text += cell(std::to_string(quantities.*quantity.value), width(quantity));
    output_.write(text + "\n");
  }
};

std::unique_ptr<Report> make_report(bool json, bool csv, DataOutput& output) {
  if (json) return std::make_unique<JsonReport>(output);
  if (csv) return std::make_unique<CsvReport>(output);
  return std::make_unique<TableReport>(output);
}

void warn_of_mixture(const ArchiveInput& input) {
  if (input.has_mixed_index_orders())
    print_warning("these archives have different index orders: their total means nothing", "inspect them apart");
  else if (input.has_mixed_keys())
    print_warning("these windows were made under different keys: their total means nothing", "inspect them apart");
}

}  // namespace

int inspect_verb(const Arguments& arguments) {
  bool json = false, csv = false;
  std::vector<std::string> paths;
  CommandLine line(
      "inspect PATH... [--json|--csv]",
      "Shows the network quantities of each window and of the sum of all. A PATH is an archive, a folder of\n"
      "archives, or a single blob; archives of the CAIDA/ILANDS tools too.",
      "  trama inspect trama-out\n"
      "  trama inspect --json out/20231114-221320-000000.8388608.tar | jq .total\n");
  line.flag("--json", json, "one JSON object");
  line.flag("--csv", csv, "a line for each window, and one for the total");
  line.words(paths, "PATH", 1, SIZE_MAX);
  if (const auto ended = line.ends(arguments)) return *ended;
  if (json && csv) return print_error("--json and --csv exclude each other"), kMisused;

  ArchiveInput input(paths);
  if (!input.has_archives()) return input.status();
  warn_of_mixture(input);
  DataOutput output;
  const auto report = make_report(json, csv, output);
  QuantityCounter counter;
  MatrixSum sum;
  report->begin();
  input.each([&](ArchivedWindow& window) {
    report->window(window.seq, window.member, counter.count(window.matrix));
    sum.add(std::move(window.matrix));
    return output.alive();
  });
  if (output.alive()) report->total(counter.count(sum.take()));
  return output.finish() ? input.status() : kFailed;
}

}  // namespace trama
