// What gnuplot is told, and what becomes of its answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "control/bench/plot.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

BenchReport report_of_rings() {
  BenchReport report;
  report.verb = "rings";
  report.title = "packets from rings";
  report.count_name = "rings";
  report.x_label = "rings";
  report.rounds = 3;
  report.windows = 4;
  report.window_packets = 256;
  report.machine = {"A processor", 2, 4, "avx2", "Linux", "g++", 0};
  for (const size_t count : {size_t{1}, size_t{2}})
    report.rows.push_back({"walk",
                           "U",
                           count,
                           Clock::wall,
                           {"ours", Series({10, 20, 40}), {}},
                           BenchSide{"theirs", Series({100, 200, 400}), {}}});
  return report;
}

BenchReport report_of_steps() {
  BenchReport report = report_of_rings();
  report.count_name = report.x_label = "";
  report.rows.resize(1);
  report.rows[0].count = 0;
  report.rows.push_back({"pass \"ten\"", "", 0, Clock::cpu, {"engine", Series({1}), {}}, {}});
  return report;
}

TEST(PlotScript, CurvesOverCounts) {
  EXPECT_EQ(plot_script(report_of_rings(), PlotFormat::svg), R"(set encoding utf8
set terminal svg size 1200,600 noenhanced background '#ffffff'
set title 'trama bench rings: packets from rings'
set label 1 'A processor, 2 cores, avx2, windows of 256 packets, medians of 3 rounds' at screen 0.5, 0.02 center
set bmargin 6
set grid ytics
set key outside right Left reverse
set xlabel 'rings'
set ylabel 'packets per second (millions)'
set logscale xy 2
set xtics (1, 2)
set offsets graph 0.05, graph 0.05, 0, 0
$curve0 << EOD
1 50 25 100
2 50 25 100
EOD
$curve1 << EOD
1 5 2.5 10
2 5 2.5 10
EOD
plot $curve0 using 1:2:3:4 with yerrorlines linewidth 2 linetype 1 dashtype 1 title 'ours, U', \
     $curve1 using 1:2:3:4 with yerrorlines linewidth 2 linetype 1 dashtype 2 title 'theirs, U'
)");
}

TEST(PlotScript, BarsWhereNothingIsCounted) {
  const std::string script = plot_script(report_of_steps(), PlotFormat::png);
  EXPECT_THAT(script, HasSubstr("set terminal pngcairo"));
  EXPECT_THAT(script, HasSubstr("$bars << EOD\n\"walk, U\" 20 200\n\"pass /ten/\" 1 NaN\nEOD\n"));
}

// Names of processors come from files that anybody may have made.
TEST(PlotScript, TextsStayTexts) {
  BenchReport report = report_of_rings();
  report.machine.processor = "'; system 'touch x'\nplot '|ls'";
  const std::string script = plot_script(report, PlotFormat::svg);
  EXPECT_THAT(script, HasSubstr("'''; system ''touch x''\\x0aplot ''|ls'', 2 cores"));
}

TEST(PlotScript, FormatsByName) {
  EXPECT_EQ(plot_format("a.svg"), PlotFormat::svg);
  EXPECT_EQ(plot_format("a.b/c.png"), PlotFormat::png);
  for (const char* other : {"a.pdf", "svg", "a.svg.gz", "", "a.SVG"}) EXPECT_FALSE(plot_format(other)) << other;
}

TEST(Gnuplot, DrawsBothFigures) {
  if (!find_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  for (const BenchReport& report : {report_of_rings(), report_of_steps()}) {
    const auto svg = draw_plot(plot_script(report, PlotFormat::svg));
    ASSERT_TRUE(svg) << svg.error().text;
    EXPECT_THAT(*svg, StartsWith("<?xml"));
    EXPECT_THAT(*svg, HasSubstr("</svg>"));
    const auto png = draw_plot(plot_script(report, PlotFormat::png));
    ASSERT_TRUE(png) << png.error().text;
    EXPECT_THAT(*png, StartsWith("\x89PNG"));
  }
}

TEST(Gnuplot, AScriptThatIsWrongIsAnError) {
  if (!find_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  testing::internal::CaptureStderr();
  EXPECT_FALSE(draw_plot("set terminal svg\nplot $nothing\n"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(testing::IsEmpty()));
}

TEST(Gnuplot, IsMissedWithTheCommandThatMendsIt) {
  const test::ScratchFolder folder;
  const std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  setenv("PATH", folder.path().c_str(), 1);
  const auto found = find_gnuplot();
  setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().text, HasSubstr("gnuplot"));
  EXPECT_THAT(found.error().hint, HasSubstr("apt-get install gnuplot-nox"));
}

}  // namespace
}  // namespace trama
