#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "engine/graph_spec.hpp"

namespace trama {
namespace {

constexpr const char* kGraph = R"([graph]
window_packets = 4096
workers = 2
pin = true
links = [
  "capture -> parse",
  "parse -> in_order -> archive, publish",
]

[stages.capture]
kind = "pcap"
files = ["a.pcap",
         "b.pcap"]
snap = 96
timeout = 0.5
strict = true

[stages.parse]
replicas = 3
route = "by_window"
cores = [0, 2]
)";

GraphSpec parsed(const std::string& text) {
  auto spec = parse_graph(text, "g.toml");
  EXPECT_TRUE(spec) << (spec ? "" : spec.error()[0].text);
  return spec.value();
}

TEST(GraphFile, Spec) {
  const GraphSpec spec = parsed(kGraph);
  EXPECT_EQ(spec.place, (Place{"g.toml", 0}));
  EXPECT_EQ(spec.sizes.window_items, 4096u);
  EXPECT_EQ(spec.sizes.batch_items, 1024u);
  EXPECT_EQ(spec.workers, 2u);
  EXPECT_EQ(spec.workers_place, (Place{"g.toml", 3}));
  EXPECT_EQ(spec.batch_credits, 0u);
  EXPECT_TRUE(spec.pin);
  EXPECT_EQ(spec.lines.lines.size(), 21u);
  EXPECT_EQ(spec.lines.lines[1], "window_packets = 4096");

  const char* links[][2] = {
      {"capture", "parse"}, {"parse", "in_order"}, {"in_order", "archive"}, {"in_order", "publish"}};
  ASSERT_EQ(spec.links.size(), std::size(links));
  for (size_t i = 0; i < std::size(links); ++i) {
    EXPECT_EQ(spec.links[i].from, links[i][0]);
    EXPECT_EQ(spec.links[i].to, links[i][1]);
    EXPECT_EQ(spec.links[i].place.line, i == 0 ? 6 : 7);
  }
  const char* stages[] = {"capture", "parse", "in_order", "archive", "publish"};
  ASSERT_EQ(spec.stages.size(), std::size(stages));
  for (size_t i = 0; i < std::size(stages); ++i) EXPECT_EQ(spec.stages[i].name, stages[i]);
}

TEST(GraphFile, StageTables) {
  const GraphSpec spec = parsed(kGraph);
  const StageSpec& capture = *spec.find("capture");
  EXPECT_EQ(capture.kind, "pcap");
  EXPECT_EQ(capture.place.line, 10);
  EXPECT_EQ(capture.kind_place.line, 11);
  EXPECT_EQ(capture.replicas_place.line, 10);
  ASSERT_EQ(capture.parameters.values.size(), 4u);
  EXPECT_EQ(std::get<std::vector<std::string>>(capture.parameters.values.at("files").value),
            (std::vector<std::string>{"a.pcap", "b.pcap"}));
  EXPECT_EQ(capture.parameters.values.at("files").place.line, 12);
  EXPECT_EQ(std::get<int64_t>(capture.parameters.values.at("snap").value), 96);
  EXPECT_EQ(std::get<double>(capture.parameters.values.at("timeout").value), 0.5);
  EXPECT_TRUE(std::get<bool>(capture.parameters.values.at("strict").value));

  const StageSpec& parse = *spec.find("parse");
  EXPECT_EQ(parse.kind, "parse");
  EXPECT_EQ(parse.kind_place.line, 18);
  EXPECT_EQ(parse.replicas, 3u);
  EXPECT_EQ(parse.replicas_place.line, 19);
  EXPECT_EQ(parse.route, Route::by_window);
  EXPECT_EQ(parse.cores, (std::vector<uint64_t>{0, 2}));

  const StageSpec& archive = *spec.find("archive");
  EXPECT_EQ(archive.kind, "archive");
  EXPECT_EQ(archive.replicas, 1u);
  EXPECT_FALSE(archive.route);
  EXPECT_EQ(archive.place.line, 7);
  EXPECT_EQ(archive.parameters.place.line, 7);
  EXPECT_EQ(spec.find("absent"), nullptr);
}

TEST(GraphFile, EndsOfLines) {
  const GraphSpec dos = parsed("[graph]\r\nlinks = [\"a -> b\"]\r\n");
  EXPECT_EQ(dos.links.size(), 1u);
  EXPECT_EQ(dos.lines.lines[1], "links = [\"a -> b\"]");
  EXPECT_EQ(parsed("graph.links = [\"a->b\"]").links.size(), 1u);
  EXPECT_EQ(parsed("\xef\xbb\xbfgraph.links = [\"a->b\"]").links.size(), 1u);  // a byte order mark
}

TEST(GraphFile, Ranges) {
  struct Case {
    const char* key;
    uint64_t least, most;
  };
  const Case cases[] = {
      {"graph.window_packets", 1, 1u << 26}, {"graph.batch_packets", 1, 1024},   {"graph.workers", 1, 1024},
      {"graph.batch_credits", 1, 65536},     {"graph.window_credits", 1, 65536}, {"stages.a.replicas", 1, 1024}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.key);
    const auto accepts = [&](int64_t value) {
      const auto spec = parse_graph(std::string(c.key) + " = " + std::to_string(value), "g");
      return spec.value().form_errors.empty();
    };
    EXPECT_TRUE(accepts(static_cast<int64_t>(c.least)));
    EXPECT_TRUE(accepts(static_cast<int64_t>(c.most)));
    EXPECT_FALSE(accepts(static_cast<int64_t>(c.least) - 1));
    EXPECT_FALSE(accepts(static_cast<int64_t>(c.most) + 1));
    EXPECT_FALSE(accepts(-1));
  }
}

TEST(GraphFile, HostileTextsAreRefusedQuickly) {
  std::string links = "graph.links = [\"s0";
  for (int i = 1; i <= 1000; ++i) links += " -> s" + std::to_string(i);
  const std::pair<const char*, std::string> texts[] = {
      {"large", std::string(300 * 1024, '\n')},
      {"deep lists", "x = " + std::string(100000, '[')},
      {"deep tables", "x = " +
                          [] {
                            std::string s;
                            for (int i = 0; i < 20000; ++i) s += "{a=";
                            return s;
                          }()},
      {"deep keys",
       [] {
         std::string s = "a";
         for (int i = 0; i < 100000; ++i) s += ".a";
         return s + " = 1";
       }()},
      {"zeros", std::string(1000, '\0')},
      {"not UTF-8", "x = \"\xff\xfe\""},
      {"stages", links + "\"]"},
      {"a capture", std::string("\xd4\xc3\xb2\xa1\x02\x00\x04\x00", 8)},
  };
  for (const auto& [what, text] : texts) {
    const auto spec = parse_graph(text, "g");
    EXPECT_FALSE(spec) << what;
    if (!spec) {
      EXPECT_EQ(spec.error().size(), 1u) << what;
    }
  }
}

TEST(GraphFile, NoMutationCrashes) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string alphabet = "[]{}=\"'.,-> \n\\#09ax_\xff";
  for (int round = 0; round < 2000; ++round) {
    std::string text = kGraph;
    for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes) {
      const size_t at = random() % text.size();
      if (random() % 2) {
        text[at] = alphabet[random() % alphabet.size()];
      } else {
        text.erase(at, random() % 20);
        if (text.empty()) text = "\n";
      }
    }
    const auto spec = parse_graph(text, "g");
    if (spec) continue;
    ASSERT_FALSE(spec.error().empty());
    for (const Diagnostic& diagnostic : spec.error()) {
      EXPECT_GE(diagnostic.place.line, 0);
      EXPECT_LE(diagnostic.place.line, static_cast<int>(lines_of(text, "g").lines.size()) + 1) << text;
    }
  }
}

TEST(GraphFile, Load) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "trama_graph_file_test_XXXXXX";
  std::string made = folder.string();
  ASSERT_NE(mkdtemp(made.data()), nullptr);
  const std::string path = made + "/g.toml";
  std::ofstream(path) << kGraph;
  const auto spec = load_graph(path);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->place.file, path);
  EXPECT_EQ(spec->stages.size(), 5u);

  for (const std::string& wrong : {made, made + "/absent.toml"}) {
    const auto none = load_graph(wrong);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().at(0).place, (Place{wrong, 0}));
  }
  std::filesystem::remove_all(made);
}

const Place kSet{"--set", 0};

TEST(SetParameter, TakesTomlAndBareWords) {
  GraphSpec spec = parsed(kGraph);
  const auto set = [&](const char* assignment) {
    const auto wrong = set_parameter(spec, assignment, kSet);
    EXPECT_FALSE(wrong) << assignment << ": " << wrong->text;
  };
  const auto value = [&](const char* key) { return spec.find("capture")->parameters.values.at(key).value; };
  using Value = decltype(ParameterValue::value);
  set("stages.capture.files=x.pcap");
  EXPECT_EQ(value("files"), Value("x.pcap"));
  EXPECT_EQ(spec.find("capture")->parameters.values.at("files").place, kSet);
  set("stages.capture.files=[\"x\", \"y\"]");
  EXPECT_EQ(value("files"), Value(std::vector<std::string>{"x", "y"}));
  set("stages.capture.snap=128");
  EXPECT_EQ(value("snap"), Value(int64_t{128}));
  set("stages.capture.strict=false");
  EXPECT_EQ(value("strict"), Value(false));
  set("stages.capture.new=1.5");
  EXPECT_EQ(value("new"), Value(1.5));
  set("stages.capture.new=a=b c");
  EXPECT_EQ(value("new"), Value("a=b c"));
  set("stages.capture.new=");
  EXPECT_EQ(value("new"), Value(""));
  set("stages.capture.new=2024-01-01");
  EXPECT_EQ(value("new"), Value("2024-01-01"));
  set("stages.capture.new=1\nother = 2");
  EXPECT_EQ(value("new"), Value("1\nother = 2"));
  set("stages.parse.replicas=7");
  EXPECT_EQ(spec.find("parse")->replicas, 7u);
  set("stages.parse.kind=other");
  EXPECT_EQ(spec.find("parse")->kind, "other");
  EXPECT_EQ(spec.find("parse")->kind_place, kSet);
  set("graph.workers=5");
  EXPECT_EQ(spec.workers, 5u);
  set("graph.pin=false");
  EXPECT_FALSE(spec.pin);
}

TEST(SetParameter, RefusesAndChangesNothing) {
  const char* wrong[] = {
      "",
      "stages.parse.replicas",
      "=1",
      "replicas=1",
      "parse.replicas=1",
      "stages.parse=1",
      "stages..replicas=1",
      "stages.parse.=1",
      "stages.prase.replicas=1",
      "graph.links=[\"a -> b\"]",
      "graph.worker=1",
      "graph.workers=0",
      "graph.workers=two",
      "graph.a.workers=1",
      "stages.parse.replicas=-1",
      "stages.parse.route=sideways",
      "stages.parse.cores=[0, -1]",
      "stages.capture.files=[\"a\"",
      "stages.capture.files=\"a",
      "stages.capture.files={a = 1}",
  };
  GraphSpec spec = parsed(kGraph);
  const std::string before = canonical_text(spec, {});
  for (const char* assignment : wrong) {
    SCOPED_TRACE(assignment);
    const auto said = set_parameter(spec, assignment, kSet);
    ASSERT_TRUE(said);
    EXPECT_EQ(said->place, kSet);
    EXPECT_FALSE(said->text.empty());
    EXPECT_FALSE(said->hint.empty());
  }
  EXPECT_EQ(canonical_text(spec, {}), before);
  EXPECT_EQ(spec.workers, 2u);
  EXPECT_EQ(spec.find("parse")->cores.size(), 2u);
  EXPECT_NE(set_parameter(spec, "stages.prase.replicas=1", kSet)->hint.find("`parse`"), std::string::npos);
}

TEST(CanonicalText, Text) {
  EXPECT_EQ(canonical_text(parsed(kGraph), {"files"}),
            "trama-graph/1\n"
            "window_packets = 4096\n"
            "link \"capture\" \"parse\"\n"
            "link \"parse\" \"in_order\"\n"
            "link \"in_order\" \"archive\"\n"
            "link \"in_order\" \"publish\"\n"
            "stage \"archive\" \"archive\"\n"
            "stage \"capture\" \"pcap\"\n"
            "  \"snap\" = 96\n"
            "  \"strict\" = true\n"
            "  \"timeout\" = 0.5\n"
            "stage \"in_order\" \"in_order\"\n"
            "stage \"parse\" \"parse\"\n"
            "stage \"publish\" \"publish\"\n");
}

TEST(CanonicalText, ChangesWithWhatChangesTheResultOnly) {
  const std::string before = canonical_text(parsed(kGraph), {"files"});
  const auto changes = [&](const char* assignment) {
    GraphSpec spec = parsed(kGraph);
    EXPECT_FALSE(set_parameter(spec, assignment, kSet)) << assignment;
    return canonical_text(spec, {"files"}) != before;
  };
  for (const char* same : {"stages.parse.replicas=9", "stages.parse.cores=[1]", "stages.parse.route=any",
                           "graph.workers=7", "graph.pin=false", "graph.batch_credits=9", "graph.window_credits=9",
                           "graph.batch_packets=2", "stages.capture.files=other"})
    EXPECT_FALSE(changes(same)) << same;
  for (const char* other : {"graph.window_packets=4097", "stages.parse.kind=other", "stages.capture.snap=97",
                            "stages.capture.strict=false", "stages.publish.new=x"})
    EXPECT_TRUE(changes(other)) << other;
}

TEST(CanonicalText, NoTextLooksLikeTwoKeys) {
  GraphSpec one = parsed("graph.links = [\"a -> b\"]"), two = one;
  EXPECT_FALSE(set_parameter(one, "stages.a.x=1\"\n  \"y\" = \"2", kSet));
  EXPECT_FALSE(set_parameter(two, "stages.a.x=\"1\"", kSet));
  EXPECT_FALSE(set_parameter(two, "stages.a.y=\"2\"", kSet));
  EXPECT_NE(canonical_text(one, {}), canonical_text(two, {}));
}

TEST(CanonicalText, LinksInOneTextOrInSeveralAreTheSame) {
  EXPECT_EQ(canonical_text(parsed("graph.links = [\"a -> b -> c, d\"]"), {}),
            canonical_text(parsed("graph.links = [\"a -> b\", \"b -> c\", \"b->d\"]\n[stages.d]\nreplicas = 2"), {}));
}

}  // namespace
}  // namespace trama
