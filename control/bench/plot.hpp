// The figure of a measurement, drawn by gnuplot, which is a program of its own and need not be there.
#pragma once
#include <optional>
#include <string>

#include "control/bench/report.hpp"
#include "engine/diagnostic.hpp"

namespace trama {

enum class PlotFormat { svg, png };

// By the end of the file's name; none for any other end.
std::optional<PlotFormat> plot_format(const std::string& path);

// What gnuplot (5.0 or later) is told; it then writes the figure on its standard output. Where rows differ in a count:
// packets a second over that count, a curve for each way, step and traffic, with the range as bars; else a bar for each
// step and way, nanoseconds a packet.
std::string plot_script(const BenchReport& report, PlotFormat format);

// Error, with the command that mends it, if gnuplot isn't installed.
Expected<void> find_gnuplot();
// Runs gnuplot; what it wrote. Its complaints go to stderr.
Expected<std::string> draw_plot(const std::string& script);

}  // namespace trama
