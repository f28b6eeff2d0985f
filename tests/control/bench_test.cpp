// trama bench as a whole, on a few small windows: what it says, writes and refuses. No test looks at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "control/bench/plot.hpp"
#include "control/verbs.hpp"
#include "tests/control/said.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

using test::read_text;
using test::Said;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

Said bench(const Arguments& arguments) {
  return test::listen([&] { return bench_verb(arguments); });
}

Arguments small(const char* verb, const Arguments& more = {}) {
  Arguments all{verb, "--quick", "--rounds", "2", "--windows", "3", "--window-packets", "300"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void expect_side(const Json& side) {
  EXPECT_FALSE(side["name"].get<std::string>().empty());
  EXPECT_EQ(side["ns_per_packet"]["rounds"].size(), 2u);
  EXPECT_GT(side["packets_per_second"], 0);
  for (const char* name : {"median", "least", "most"}) EXPECT_GE(side["ns_per_packet"][name], 0) << name;
}

struct Measurement {
  const char* verb;
  Arguments more;
  std::vector<std::string> rows;  // "step traffic count"
};

std::vector<Measurement> measurements() {
  const std::string crew = "walk, build, serialize, tar ";
  return {{"build",
           {"--traffic", "zipf"},
           {"processes Z 1", "processes Z 2", "processes Z 4", "processes Z 8", "threads of one process Z 1",
            "threads of one process Z 2", "threads of one process Z 4", "threads of one process Z 8"}},
          {"build",
           {"--traffic", "uniform", "--instances", "threads"},
           {"threads U 1", "threads U 2", "threads U 4", "threads U 8", "threads of one process U 1",
            "threads of one process U 2", "threads of one process U 4", "threads of one process U 8"}},
          {"io",
           {},
           {crew + "U 1", crew + "U 2", crew + "U 4", crew + "U 8", crew + "Z 1", crew + "Z 2", crew + "Z 4",
            crew + "Z 8"}},
          {"rings",
           {"--traffic", "uniform", "--workers", "3"},
           {crew + "U 1", crew + "U 2", crew + "U 4", crew + "U 8", crew + "U 16"}},
          {"pipeline",
           {"--traffic", "zipf", "--table-bits", "16"},
           {"steps in a loop Z 1", "engine Z 1", "steps in a loop Z 2", "engine Z 2"}},
          {"stages",
           {},
           {"anonymize U", "build U", "serialize U", "anonymize Z", "build Z", "serialize Z", "header walk, raw IP",
            "header walk, Ethernet", "ten pass stages"}}};
}

TEST(Bench, EachMeasurementSaysWhatItMeasured) {
  for (const Measurement& measurement : measurements()) {
    SCOPED_TRACE(measurement.verb);
    const Watchdog watchdog(std::chrono::seconds(300));
    Arguments arguments = small(measurement.verb, measurement.more);
    arguments.insert(arguments.end(), {"--json", "-"});
    const Said said = bench(arguments);
    ASSERT_EQ(said.status, kDone) << said.err;
    const Json json = Json::parse(said.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << said.out;
    EXPECT_EQ(json["bench"], measurement.verb);
    EXPECT_EQ(json["quick"], true);
    EXPECT_EQ(json["rounds"], 2);
    EXPECT_EQ(json["windows"], 3);
    EXPECT_EQ(json["window_packets"], 300);
    for (const char* name : {"processor", "vector_target", "kernel", "compiler"})
      EXPECT_FALSE(json["machine"][name].get<std::string>().empty()) << name;
    std::vector<std::string> rows;
    for (const Json& row : json["rows"]) {
      std::string name = row["step"].get<std::string>();
      if (row["traffic"].is_string()) name += " " + row["traffic"].get<std::string>();
      if (row["count"].is_number()) name += " " + std::to_string(row["count"].get<int>());
      rows.push_back(name);
      expect_side(row["ours"]);
      if (row["baseline"].is_null()) continue;
      expect_side(row["baseline"]);
      EXPECT_GT(row["ratio"]["of_medians"], 0);
    }
    EXPECT_EQ(rows, measurement.rows);
    EXPECT_THAT(said.err, HasSubstr("quick     a quick run"));
    EXPECT_THAT(said.out + said.err, Not(HasSubstr("\x1b")));
  }
}

TEST(Bench, BlobsAreNoLongerThanTheLibrarysBeyondTwoPercent) {
  const Said said = bench({"stages", "--quick", "--rounds", "1", "--windows", "1", "--json", "-"});
  ASSERT_EQ(said.status, kDone) << said.err;
  size_t compared = 0;
  const Json json = Json::parse(said.out);
  for (const Json& row : json["rows"]) {
    if (row["step"] != "serialize") continue;
    EXPECT_LE(row["ours"]["bytes_per_packet"].get<double>(), 1.02 * row["baseline"]["bytes_per_packet"].get<double>());
    ++compared;
  }
  EXPECT_EQ(compared, 2u);
}

TEST(Bench, WritesTableJsonAndFigure) {
  const test::ScratchFolder folder;
  Arguments arguments = small("stages", {"--json", (folder / "a.json").string()});
  const bool draws = find_gnuplot().has_value();
  if (draws) arguments.insert(arguments.end(), {"--plot", (folder / "a.svg").string()});
  const Said said = bench(arguments);
  ASSERT_EQ(said.status, kDone) << said.err;
  EXPECT_THAT(said.out, HasSubstr("trama bench stages"));
  EXPECT_THAT(said.out, HasSubstr("GrB_Matrix_build"));
  EXPECT_EQ(Json::parse(read_text(folder / "a.json"))["bench"], "stages");
  if (draws) {
    EXPECT_THAT(read_text(folder / "a.svg"), HasSubstr("anonymize, U"));
  }
}

TEST(Bench, RefusesBeforeItMeasures) {
  const test::ScratchFolder folder;
  const std::string there = (folder / "there.json").string();
  test::write_file(there, std::string("worth keeping"));
  struct Case {
    Arguments arguments;
    const char* said;
  };
  const std::vector<Case> cases = {
      {{}, "VERB is missing"},
      {{"pipline"}, "there is no measurement `pipline`"},
      {{"stages", "io"}, "one argument too many"},
      {{"stages", "--rounds", "0"}, "--rounds is a whole number of 1 to 1000"},
      {{"stages", "--windows", "many"}, "--windows is a whole number"},
      {{"stages", "--window-packets", "8388609"}, "--window-packets is a whole number of 1 to 8388608"},
      {{"stages", "--traffic", "zip"}, "--traffic can't be `zip`"},
      {{"stages", "--table-bits", "20"}, "--table-bits belongs to `trama bench pipeline`"},
      {{"pipeline", "--table-bits", "29"}, "--table-bits is a whole number of 16 to 28"},
      {{"io", "--instances", "threads"}, "--instances belongs to `trama bench build`"},
      {{"io", "--workers", "2"}, "--workers belongs to `trama bench rings`"},
      {{"stages", "--json", folder.path().string()}, "is a folder"},
      {{"stages", "--json", there}, "is there already"},
      {{"stages", "--json", (folder / "none" / "a.json").string()}, "there is no folder"},
      {{"stages", "--plot", "figure.pdf"}, "neither .svg nor .png"},
      {{"stages", "--plot", (folder / "none" / "a.svg").string()}, "there is no folder"},
      {{"stages", "--json", "a.svg", "--plot", "a.svg"}, "name the same file"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.said);
    const Said said = bench(one.arguments);
    EXPECT_EQ(said.status, kMisused);
    EXPECT_EQ(said.out, "");
    EXPECT_THAT(said.err, HasSubstr(one.said));
  }
  EXPECT_EQ(read_text(there), "worth keeping");
}

TEST(Bench, HelpListsTheMeasurements) {
  const Said said = bench({"--help"});
  EXPECT_EQ(said.status, kDone);
  for (const char* verb : {"build", "io", "rings", "pipeline", "stages"})
    EXPECT_THAT(said.out, HasSubstr("\n  " + std::string(verb))) << verb;
}

}  // namespace
}  // namespace trama
