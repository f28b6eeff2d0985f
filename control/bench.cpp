// trama bench: the measurements of the papers, ours and the published method in turn.
//
// Options are read and files are judged here; each measurement is a file of its own (bench_build.cpp, ...). It takes
// SIGINT as it comes: nothing is written before the end, and processes it has started die with it.
#include <algorithm>
#include <ctime>

#include "control/bench/graphblas.hpp"
#include "control/bench/options.hpp"
#include "control/bench/output.hpp"
#include "control/bench/plot.hpp"
#include "control/bench/table.hpp"
#include "control/data_output.hpp"
#include "control/run_graph.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "engine/suggest.hpp"

namespace trama {
namespace {

constexpr uint64_t kMostRounds = 1000, kMostWindows = 65536, kMostWindowPackets = 1 << 23, kMostWorkers = 64;
constexpr size_t kQuickRounds = 3;
constexpr int kQuickTableBits = AddressTable::kSmallBits;

constexpr BenchVerb kVerbs[] = {
    {"build", "pairs to matrices: 1, 2, 4, 8 instances, and threads of GraphBLAS", 8 * 64, 8, bench_build},
    {"io", "1, 2, 4, 8 pairs of threads, one receiving and one building", 128, 8, bench_io},
    {"rings", "packets from 1, 2, 4, 8, 16 rings, all cores", 128, 16, bench_rings},
    {"pipeline", "anonymize, build, serialize, archive in memory: one core, two, the engine", 64, 8, bench_pipeline},
    {"stages", "each step alone", 16, 2, bench_stages},
};

std::string about() {
  std::string text =
      "Measures what the papers on GraphBLAS traffic matrices measured. Beside each figure of ours stands the\n"
      "published method, run in turn with it on the same traffic (U uniform, Z heavy-tailed), after both were\n"
      "found to make the same matrices. Nothing is read, and nothing is written but what --json and --plot name.\n\n"
      "VERB is one of\n";
  for (const BenchVerb& verb : kVerbs) {
    std::string line = std::string("  ") + verb.name;
    line.resize(12, ' ');
    text += line + verb.summary + "\n";
  }
  text.pop_back();
  return text;
}

struct Wanted {
  std::vector<std::string> words;
  bool quick = false;
  std::optional<uint64_t> rounds, windows, window_packets, table_bits, workers;
  std::optional<std::string> traffic, instances, json, plot;
};

// An option that only one of the verbs has, given to another one.
Expected<void> refuse_foreign(const Wanted& wanted, const std::string& verb) {
  const auto foreign = [&](const char* option, bool given, const char* owner) -> Expected<void> {
    if (!given || verb == owner) return {};
    return failure(std::string(option) + " belongs to `trama bench " + owner + "`", "leave it out");
  };
  return foreign("--instances", wanted.instances.has_value(), "build")
      .and_then([&] { return foreign("--table-bits", wanted.table_bits.has_value(), "pipeline"); })
      .and_then([&] { return foreign("--workers", wanted.workers.has_value(), "rings"); });
}

Expected<void> judge_outputs(const Wanted& wanted) {
  if (wanted.json && *wanted.json != "-")
    if (auto usable = judge_output(*wanted.json, "--json"); !usable) return usable;
  if (!wanted.plot) return {};
  if (!plot_format(*wanted.plot))
    return failure("the figure " + *wanted.plot + " is neither .svg nor .png", "name it figure.svg", {"--plot", 0});
  if (wanted.json && *wanted.json == *wanted.plot)
    return failure("--json and --plot name the same file", "give each a name of its own");
  if (auto usable = judge_output(*wanted.plot, "--plot"); !usable) return usable;
  return find_gnuplot();
}

BenchOptions options_for(const BenchVerb& verb, const Wanted& wanted) {
  BenchOptions options;
  options.rounds = wanted.rounds.value_or(wanted.quick ? kQuickRounds : options.rounds);
  options.windows = wanted.windows.value_or(wanted.quick ? verb.quick_windows : verb.windows);
  options.window_packets = wanted.window_packets.value_or(options.window_packets);
  if (wanted.traffic == "uniform") options.traffic = {TrafficModel::uniform};
  if (wanted.traffic == "zipf") options.traffic = {TrafficModel::zipf};
  if (wanted.instances == "threads") options.instances = InstanceKind::threads;
  options.table_bits = static_cast<int>(
      wanted.table_bits.value_or(static_cast<uint64_t>(wanted.quick ? kQuickTableBits : options.table_bits)));
  options.workers = wanted.workers.value_or(std::min<uint64_t>(allowed_processors().size(), kMostWorkers));
  if (is_terminal(2))
    options.progress = [](size_t round, size_t rounds) {
      std::fprintf(stderr, "\rround %zu of %zu ", round + 1, rounds);
    };
  return options;
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

Expected<BenchReport> measure(const BenchVerb& verb, const BenchOptions& options, bool quick) {
  BenchReport report;
  report.verb = verb.name;
  report.quick = quick;
  report.rounds = options.rounds;
  report.windows = options.windows;
  report.window_packets = options.window_packets;
  report.time = time_now();
  report.machine = describe_machine();
  tune_malloc();
  const auto measured = verb.run(options, report);
  if (options.progress) std::fputs("\r\x1b[K", stderr);
  if (!measured) return tl::unexpected(measured.error());
  report.load_after = describe_machine().load;
  return report;
}

// Data on standard output is one thing: the table gives way to JSON.
Expected<int> hand_out(const BenchReport& report, const Wanted& wanted) {
  const std::string text = report_text(report), json = report_json(report);
  bool written = true;
  if (wanted.json == "-") {
    DataOutput output;
    output.write(json);
    written = output.finish();
    std::fputs(text.c_str(), stderr);
  } else {
    std::fputs(text.c_str(), stdout);
    if (wanted.json)
      if (auto made = write_output(*wanted.json, json); !made) return tl::unexpected(std::move(made.error()));
  }
  if (wanted.plot) {
    const auto figure = draw_plot(plot_script(report, *plot_format(*wanted.plot)));
    if (!figure) return tl::unexpected(figure.error());
    if (auto made = write_output(*wanted.plot, *figure); !made) return tl::unexpected(std::move(made.error()));
  }
  return written ? kDone : kFailed;
}

void say_options(CommandLine& line, Wanted& wanted) {
  line.words(wanted.words, "VERB", 1, 1);
  line.flag("--quick", wanted.quick, "a few seconds: fewer windows, 3 rounds, a small table; says so");
  line.integer("--rounds", wanted.rounds, 1, kMostRounds, "N", "rounds, of which medians are taken (7)");
  line.integer("--windows", wanted.windows, 1, kMostWindows, "N", "windows of each measurement in a round");
  line.integer("--window-packets", wanted.window_packets, 1, kMostWindowPackets, "N", "packets of a window (131072)");
  line.choice("--traffic", wanted.traffic, {"uniform", "zipf", "both"}, "what is measured on (both)");
  line.choice("--instances", wanted.instances, {"processes", "threads"},
              "what the instances of `build` are (processes)");
  line.integer("--table-bits", wanted.table_bits, AddressTable::kLeastBits, AddressTable::kMostBits, "N",
               "`pipeline`: the published method's table has 2^N entries (28, which is 1 GiB)");
  line.integer("--workers", wanted.workers, 1, kMostWorkers, "N", "threads that empty the `rings` (all cores)");
  line.text("--json", wanted.json, "FILE|-", "figures as JSON; with - the table goes to stderr");
  line.text("--plot", wanted.plot, "FILE", "the paper's figure, FILE.svg or FILE.png (needs gnuplot)");
}

}  // namespace

int bench_verb(const Arguments& arguments) {
  Wanted wanted;
  CommandLine line("bench VERB [options]", about(),
                   "  trama bench pipeline\n"
                   "  trama bench build --plot build.svg --json build.json\n"
                   "  TRAMA_VECTOR=avx2 trama bench stages --quick\n");
  say_options(line, wanted);
  if (const auto ended = line.ends(arguments)) return *ended;
  const auto verb = std::find_if(std::begin(kVerbs), std::end(kVerbs),
                                 [&](const BenchVerb& one) { return one.name == wanted.words[0]; });
  if (verb == std::end(kVerbs)) {
    std::vector<std::string> names;
    for (const BenchVerb& one : kVerbs) names.emplace_back(one.name);
    print_error("there is no measurement `" + wanted.words[0] + "`", suggestion(wanted.words[0], "there are", names));
    return kMisused;
  }
  const auto usable = refuse_foreign(wanted, verb->name).and_then([&] { return judge_outputs(wanted); });
  if (!usable) return print(usable.error()), kMisused;
  const auto report = measure(*verb, options_for(*verb, wanted), wanted.quick);
  if (!report) return print(report.error()), kFailed;
  const auto status = hand_out(*report, wanted);
  if (!status) return print(status.error()), kFailed;
  return *status;
}

}  // namespace trama
