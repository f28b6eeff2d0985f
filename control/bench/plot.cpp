#include "control/bench/plot.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "control/terminal.hpp"
#include "libclient/formats/file_bytes.hpp"

extern char** environ;

namespace trama {
namespace {

constexpr const char* kHint = "sudo apt-get install gnuplot-nox";

// A text as gnuplot reads it: in single quotes, which stand for nothing but themselves. It stays on its line.
std::string in_quotes(const std::string& text) {
  std::string result = "'";
  for (const char c : printable(text)) {
    if (c == '\'') result += '\'';
    result += c;
  }
  return result + "'";
}

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string with_traffic(const std::string& name, const std::string& traffic) {
  return traffic.empty() ? name : name + ", " + traffic;
}

std::string preamble(const BenchReport& report, PlotFormat format) {
  const std::string title = "trama bench " + report.verb + ": " + report.title + (report.quick ? " (quick)" : "");
  const std::string machine = report.machine.processor + ", " + std::to_string(report.machine.cores_allowed) +
                              " cores, " + report.machine.vector_target + ", windows of " +
                              std::to_string(report.window_packets) + " packets, medians of " +
                              counted(report.rounds, "round");
  return std::string("set encoding utf8\nset terminal ") + (format == PlotFormat::svg ? "svg" : "pngcairo") +
         " size 1200,600 noenhanced background '#ffffff'\nset title " + in_quotes(title) + "\nset label 1 " +
         in_quotes(machine) + " at screen 0.5, 0.02 center\nset bmargin 6\nset grid ytics\n" +
         "set key outside right Left reverse\n";
}

// One line of a figure over counts. A baseline has the colour of what it stands beside, and is dashed.
struct Curve {
  std::string name;
  int color, dashes;   // gnuplot's numbers, from 1 on
  std::string points;  // count, median, least, most: millions of packets a second
};

// The colour of the side's curve; of a new one, that of `color`.
int add_point(std::vector<Curve>& curves, const BenchRow& row, const BenchSide& side, bool name_step, int color,
              int dashes) {
  std::string name = side.name;
  if (name_step) name += ", " + row.step;
  name = with_traffic(name, row.traffic);
  auto curve = std::find_if(curves.begin(), curves.end(), [&](const Curve& one) { return one.name == name; });
  if (curve == curves.end()) curve = curves.insert(curves.end(), {name, color, dashes, ""});
  const auto rate = [](double ns) { return number(ns > 0 ? 1e3 / ns : 0); };
  curve->points += std::to_string(row.count) + " " + rate(side.ns.median()) + " " + rate(side.ns.most()) + " " +
                   rate(side.ns.least()) + "\n";
  return curve->color;
}

std::string curves_script(const BenchReport& report) {
  std::vector<Curve> curves;
  std::vector<size_t> counts;
  const bool name_step = std::any_of(report.rows.begin(), report.rows.end(),
                                     [&](const BenchRow& row) { return row.step != report.rows.front().step; });
  for (const BenchRow& row : report.rows) {
    const auto solid = std::count_if(curves.begin(), curves.end(), [](const Curve& one) { return one.dashes == 1; });
    const int color = add_point(curves, row, row.ours, name_step, static_cast<int>(solid) + 1, 1);
    if (row.baseline) add_point(curves, row, *row.baseline, name_step, color, 2);
    if (std::find(counts.begin(), counts.end(), row.count) == counts.end()) counts.push_back(row.count);
  }
  std::string script = "set xlabel " + in_quotes(report.x_label) + "\nset ylabel 'packets per second (millions)'\n" +
                       "set logscale xy 2\nset xtics (";
  for (size_t i = 0; i < counts.size(); ++i) script += (i > 0 ? ", " : "") + std::to_string(counts[i]);
  script += ")\nset offsets graph 0.05, graph 0.05, 0, 0\n";
  std::string plot;
  for (size_t i = 0; i < curves.size(); ++i) {
    const std::string data = "$curve" + std::to_string(i);
    script += data + " << EOD\n" + curves[i].points + "EOD\n";
    plot += (i > 0 ? ", \\\n     " : "plot ") + data + " using 1:2:3:4 with yerrorlines linewidth 2 linetype " +
            std::to_string(curves[i].color) + " dashtype " + std::to_string(curves[i].dashes) + " title " +
            in_quotes(curves[i].name);
  }
  return script + plot + "\n";
}

std::string bars_script(const BenchReport& report) {
  std::string data;
  for (size_t i = 0; i < report.rows.size(); ++i) {
    const BenchRow& row = report.rows[i];
    std::string label = with_traffic(row.step, row.traffic);
    if (row.count > 0) label += ", " + report.count_name + " " + std::to_string(row.count);
    // In a data block, texts stand in double quotes, in which a backslash would begin an escape.
    std::replace_if(
        label.begin(), label.end(), [](char c) { return c == '"' || c == '\\'; }, '/');
    data += "\"" + label + "\" " + number(row.ours.ns.median()) + " " +
            (row.baseline ? number(row.baseline->ns.median()) : "NaN") + "\n";
  }
  return "set yrange [0:*]\nset ylabel 'nanoseconds per packet'\nset style data histograms\nset style histogram "
         "clustered gap 1\n"
         "set style fill solid 0.8\nset xtics rotate by -30\nset rmargin 20\nset bmargin 9\n$bars << EOD\n" +
         data + "EOD\nplot $bars using 2:xtic(1) title 'Trama', '' using 3 title 'baseline'\n";
}

// Everything that a file of our own memory holds.
std::string contents(int file) {
  const off_t bytes = lseek(file, 0, SEEK_END);
  std::string text(bytes > 0 ? static_cast<size_t>(bytes) : 0, '\0');
  if (!read_at(file, 0, {reinterpret_cast<uint8_t*>(text.data()), text.size()})) text.clear();
  return text;
}

// -1: it could not be started; errno says why.
int run_gnuplot(std::vector<const char*> arguments, int input, int output, int errors) {
  arguments.insert(arguments.begin(), "gnuplot");
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int from[] = {input, output, errors};
  for (int to = 0; to < 3; ++to) posix_spawn_file_actions_adddup2(&actions, from[to], to);
  pid_t process = -1;
  const int failed =
      posix_spawnp(&process, "gnuplot", &actions, nullptr, const_cast<char**>(arguments.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  errno = failed;
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

std::optional<PlotFormat> plot_format(const std::string& path) {
  if (path.ends_with(".svg")) return PlotFormat::svg;
  if (path.ends_with(".png")) return PlotFormat::png;
  return std::nullopt;
}

std::string plot_script(const BenchReport& report, PlotFormat format) {
  return preamble(report, format) + (report.x_label.empty() ? bars_script(report) : curves_script(report));
}

Expected<void> find_gnuplot() {
  const FileDescriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (run_gnuplot({"--version"}, nothing.get(), nothing.get(), nothing.get()) == 0) return {};
  return failure("gnuplot, which draws the figure, can't be run", kHint, {"--plot", 0});
}

Expected<std::string> draw_plot(const std::string& script) {
  const FileDescriptor input(memfd_create("script", MFD_CLOEXEC)), output(memfd_create("figure", MFD_CLOEXEC));
  if (!input || !output || write(input.get(), script.data(), script.size()) != static_cast<ssize_t>(script.size()) ||
      lseek(input.get(), 0, SEEK_SET) != 0)
    return failure(std::string("can't hand the figure to gnuplot: ") + std::strerror(errno));
  // Without the user's settings: they could be for another terminal.
  const int status = run_gnuplot({"--default-settings"}, input.get(), output.get(), STDERR_FILENO);
  std::string figure = contents(output.get());
  if (status == 0 && !figure.empty()) return figure;
  return failure("gnuplot can't draw the figure", kHint, {"--plot", 0});
}

}  // namespace trama
