#include "control/control_answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/control/running_graph.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

class ControlAnswersTest : public testing::Test {
 protected:
  Json ask(const std::string& request, const std::string& fields = "") {
    const std::string line = answers_.answer(R"({"trama": 1, "id": 5, "request": ")" + request + "\"" + fields + "}");
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
    Json json = Json::parse(line);
    EXPECT_EQ(json.at("trama"), 1);
    EXPECT_EQ(json.at("id"), 5);
    return json;
  }
  Json result(const std::string& request, const std::string& fields = "") {
    const Json json = ask(request, fields);
    EXPECT_EQ(json.at("ok"), true) << json;
    return json.value("result", Json());
  }
  std::string error(const std::string& request, const std::string& fields = "") {
    const Json json = ask(request, fields);
    EXPECT_EQ(json.at("ok"), false) << json;
    return json.value("error", "");
  }
  // What the command will say on stderr of what came through the socket.
  std::vector<std::string> notes() {
    std::vector<std::string> texts;
    for (const Diagnostic& note : graph_.report->take_messages())
      if (note.place.file == "control socket") texts.push_back(note.text + note.hint);
    return texts;
  }

  test::RunningGraph graph_{test::small_graph()};
  ControlAnswers answers_{*graph_.control, *graph_.state, *graph_.windows, *graph_.report};
};

TEST_F(ControlAnswersTest, StatusOfARunThatIsOver) {
  ASSERT_TRUE(graph_.runtime->run());
  const Json status = result("status");
  EXPECT_EQ(status.at("version"), TRAMA_VERSION);
  EXPECT_EQ(status.at("sensor"), "tap-3");
  EXPECT_EQ(status.at("state"), "running");
  EXPECT_EQ(status.at("workers"), 2);
  EXPECT_EQ(status.at("read").at("packets"), 10500);
  EXPECT_EQ(status.at("packets").at("seen"), 10500);
  EXPECT_EQ(status.at("packets").at("counted"), 10500);
  EXPECT_EQ(status.at("windows"), (Json{{"full", 10}, {"partial", 1}, {"lost", 0}}));
  ASSERT_EQ(status.at("stages").size(), 7U);
  EXPECT_EQ(status.at("stages")[0].at("stage"), "synthetic");
  EXPECT_EQ(status.at("stages")[0].at("items"), 10500);
  EXPECT_GT(status.at("stages")[0].at("busy_s"), 0);
}

TEST_F(ControlAnswersTest, Counters) {
  ASSERT_TRUE(graph_.runtime->run());
  const Json stages = result("counters").at("stages");
  ASSERT_EQ(stages.size(), 7U);
  EXPECT_EQ(stages[6].at("stage"), "null");
  ASSERT_EQ(stages[6].at("replicas").size(), 1U);
  EXPECT_EQ(stages[6].at("replicas")[0].at("messages"), 11);
}

TEST_F(ControlAnswersTest, Windows) {
  EXPECT_EQ(result("windows").at("windows").size(), 0U);
  ASSERT_TRUE(graph_.runtime->run());
  const Json windows = result("windows", R"(, "last": 2)").at("windows");
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(windows[0].at("seq"), 9);
  EXPECT_EQ(windows[0].at("packets"), 1000);
  EXPECT_EQ(windows[1].at("packets"), 500);
  EXPECT_EQ(windows[1].at("partial"), true);
  EXPECT_TRUE(windows[1].at("links").is_null()) << "nobody told";
}

TEST_F(ControlAnswersTest, Exclusions) {
  EXPECT_EQ(result("exclude add", R"(, "range": "192.0.2.0/24")"), (Json{{"changed", true}, {"ranges", 1}}));
  EXPECT_EQ(result("exclude list"), (Json{{"typed", {"192.0.2.0/24"}}, {"files", Json::array()}, {"ranges", 1}}));
  EXPECT_THAT(error("exclude add", R"(, "range": "192.0.2.1/24")"), HasSubstr("bits set behind"));
  EXPECT_THAT(error("exclude remove", R"(, "range": "10.0.0.0/8")"), HasSubstr("not among those"));
  EXPECT_EQ(result("exclude remove", R"(, "range": "192.0.2.0/24:either")"), (Json{{"changed", true}, {"ranges", 0}}));
  EXPECT_THAT(error("reload"), HasSubstr("no file of ranges"));
  EXPECT_THAT(notes(), ElementsAre("1 exclusion range from now on", "0 exclusion ranges from now on"))
      << "logs have no addresses";
}

TEST_F(ControlAnswersTest, NothingOfAFileIsShown) {
  const test::ScratchFolder folder;
  const std::string file = folder / "private.txt";
  test::write_file(file, std::string("198.51.100.0/24\n"));
  test::RunningGraph graph(test::small_graph("[stages.exclude]\nfiles = [\"" + file + "\"]\n"));
  ControlAnswers answers(*graph.control, *graph.state, *graph.windows, *graph.report);
  std::string all;
  for (const char* request : {"status", "counters", "windows", "exclude list", "reload"})
    all += answers.answer(R"({"trama": 1, "request": ")" + std::string(request) + "\"}");
  test::write_file(file, std::string("198.51.100.1/24\nnonsense 203.0.113.9\n"));
  all += answers.answer(R"({"trama": 1, "request": "reload"})");
  EXPECT_THAT(all, HasSubstr(file + ":1"));
  EXPECT_THAT(all, Not(HasSubstr("198.51.100")));
  EXPECT_THAT(all, Not(HasSubstr("203.0.113")));
  EXPECT_THAT(all, Not(HasSubstr("nonsense")));
}

TEST_F(ControlAnswersTest, KeyFlushAndStop) {
  const std::string fingerprint = result("rotate-key", R"(, "ephemeral": true)").at("key");
  EXPECT_EQ(fingerprint.size(), 16U);
  EXPECT_THAT(error("rotate-key", R"(, "key_file": "/nowhere/a.key")"), HasSubstr("/nowhere/a.key"));
  EXPECT_EQ(result("flush"), Json::object());
  EXPECT_EQ(result("stop"), Json::object());
  EXPECT_EQ(result("stop"), Json::object()) << "twice is once";
  EXPECT_EQ(result("status").at("state"), "stopping");
  EXPECT_THAT(notes(), ElementsAre(HasSubstr(fingerprint), HasSubstr("closed"), HasSubstr("stop")));
}

TEST_F(ControlAnswersTest, NonsenseIsAnswered) {
  const Json json = Json::parse(answers_.answer("\xFF\x00{"));
  EXPECT_EQ(json.at("ok"), false);
  EXPECT_FALSE(json.contains("id"));
}

}  // namespace
}  // namespace trama
