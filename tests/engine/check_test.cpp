// Golden files: each tests/data/graphs/NAME.toml has a NAME.expected, all that is said about it as the command prints
// it (nothing, when it is right). A new pair needs no code. After a wanted change of the words:
//   TRAMA_UPDATE_GOLDEN=1 engine_tests --gtest_filter='*Golden*'
// writes the .expected files anew; read the difference before it is committed.
#include "engine/check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/plan.hpp"
#include "tests/engine/test_kinds.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// All that is said from the text to the plan, on a machine of four processors.
std::string said_about(const std::string& text, const std::string& name) {
  std::string said;
  const auto tell = [&](const Diagnostics& diagnostics) {
    for (const Diagnostic& diagnostic : diagnostics) said += show(diagnostic, lines_of(text, name));
    return said;
  };
  const auto spec = parse_graph(text, name);
  if (!spec) return tell(spec.error());
  auto graph = check(*spec, test_kinds());
  if (!graph) return tell(graph.error());
  const auto plan = make_plan(std::move(*graph), {0, 1, 2, 3});
  return plan ? said : tell(plan.error());
}

std::vector<fs::path> files_ending(const char* extension) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(TRAMA_TEST_DATA) / "graphs"))
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(Check, GoldenFiles) {
  const bool update = std::getenv("TRAMA_UPDATE_GOLDEN") != nullptr;
  const std::vector<fs::path> graphs = files_ending(".toml");
  ASSERT_GE(graphs.size(), 30u);
  for (const fs::path& path : graphs) {
    SCOPED_TRACE(path.filename().string());
    const std::string said = said_about(contents(path), path.filename().string());
    const fs::path expected = fs::path(path).replace_extension(".expected");
    if (update) std::ofstream(expected, std::ios::binary) << said;
    ASSERT_TRUE(fs::exists(expected));
    EXPECT_EQ(said, contents(expected));
  }
}

TEST(Check, EachGoldenFileHasItsGraph) {
  for (const fs::path& expected : files_ending(".expected"))
    EXPECT_TRUE(fs::exists(fs::path(expected).replace_extension(".toml"))) << expected;
}

CheckedGraph checked(const std::string& text) {
  const auto spec = parse_graph(text, "graph.toml");
  EXPECT_TRUE(spec);
  auto graph = check(spec.value(), test_kinds());
  EXPECT_TRUE(graph);
  return graph.value();
}

size_t index_of(const CheckedGraph& graph, const std::string& name) {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].spec.name == name) return i;
  ADD_FAILURE() << "no node " << name;
  return 0;
}

TEST(Check, FiveMistakesGiveFiveMessages) {
  const auto spec = parse_graph(contents(fs::path(TRAMA_TEST_DATA) / "graphs/five_mistakes.toml"), "five");
  ASSERT_TRUE(spec);
  const auto graph = check(*spec, test_kinds());
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().size(), 5u);
}

TEST(Check, EachNodeStandsBehindTheOneThatFeedsIt) {
  // Written backwards on purpose.
  const CheckedGraph graph = checked(
      "graph.links = [\"reorder -> sum\", \"cut -> measure -> reorder\", \"numbers -> cut\", \"reorder -> null\"]");
  ASSERT_EQ(graph.nodes.size(), 6u);
  EXPECT_EQ(graph.nodes[0].spec.name, "numbers");
  EXPECT_EQ(graph.nodes[0].feeder, 0u);
  for (size_t i = 1; i < graph.nodes.size(); ++i) {
    const CheckedGraph::Node& node = graph.nodes[i];
    EXPECT_LT(node.feeder, i);
    const auto& readers = graph.nodes[node.feeder].readers;
    EXPECT_EQ(std::count(readers.begin(), readers.end(), i), 1) << node.spec.name;
  }
  EXPECT_EQ(graph.nodes[index_of(graph, "reorder")].readers,
            (std::vector<size_t>{index_of(graph, "sum"), index_of(graph, "null")}));
}

TEST(Check, AStageOfAnyTypeHandsOnWhatItTakes) {
  const CheckedGraph graph = checked("graph.links = [\"numbers -> same -> cut -> measure -> reorder -> null\"]");
  const auto output = [&](const char* name) { return graph.nodes[index_of(graph, name)].output; };
  EXPECT_EQ(output("same"), output("numbers"));
  EXPECT_EQ(output("reorder"), output("measure"));
  EXPECT_NE(output("cut"), output("numbers"));
  EXPECT_EQ(output("null"), nullptr);
}

TEST(Check, DomainsBeginAtStagesThatOpenNumbers) {
  const CheckedGraph graph = checked(
      "graph.links = [\"numbers -> merge -> cut, null\", \"cut -> measure -> sum, publish\"]\n"
      "stages.measure.replicas = 1\n");
  ASSERT_EQ(graph.domains.size(), 2u);
  const auto domains = [&](const char* name) {
    const auto& node = graph.nodes[index_of(graph, name)];
    return std::pair(node.domain_in, node.domain_out);
  };
  EXPECT_EQ(domains("numbers"), std::pair(size_t{0}, size_t{0}));
  EXPECT_EQ(domains("merge"), std::pair(size_t{0}, size_t{0}));
  EXPECT_EQ(domains("cut"), std::pair(size_t{0}, size_t{1}));
  EXPECT_EQ(domains("null"), std::pair(size_t{0}, size_t{0}));
  EXPECT_EQ(domains("measure"), std::pair(size_t{1}, size_t{1}));
  EXPECT_EQ(domains("publish"), std::pair(size_t{1}, size_t{1}));
  EXPECT_EQ(graph.domains[0].holds, 3u);
  EXPECT_EQ(graph.domains[0].may_lose, 0u);
  EXPECT_FALSE(graph.domains[0].ends_in_sinks);
  EXPECT_FALSE(graph.domains[0].windows);
  EXPECT_EQ(graph.domains[1].holds, 0u);
  EXPECT_EQ(graph.domains[1].may_lose, 4u);
  EXPECT_TRUE(graph.domains[1].ends_in_sinks);
  EXPECT_TRUE(graph.domains[1].windows);
}

TEST(Check, HoldsAreSummedAlongAPathAndNotOverBranches) {
  const CheckedGraph graph = checked(
      "graph.links = [\"numbers -> a -> b, c, d\", \"b -> n1\", \"c -> n2\", \"d -> n3\"]\n"
      "stages = { a = {kind = \"merge\"}, b = {kind = \"merge\"}, c = {kind = \"merge\"}, d = {kind = \"look\"}, "
      "n1 = {kind = \"null\"}, n2 = {kind = \"null\"}, n3 = {kind = \"null\"} }");
  EXPECT_EQ(graph.domains[0].holds, 6u);
}

TEST(Check, CreditsThatJustSuffice) {
  const std::string links = "graph.links = [\"numbers -> merge -> null\"]\n";
  checked(links + "graph.batch_credits = 4");
  const auto spec = parse_graph(links + "graph.batch_credits = 3", "graph.toml");
  ASSERT_TRUE(spec);
  const auto graph = check(*spec, test_kinds());
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().at(0).place, (Place{"graph.toml", 2}));
}

TEST(Check, AStageThatChangesItsInputMayStandBehindBuffersOfItsOwn) {
  checked("graph.links = [\"numbers -> half -> look, null\", \"look -> cut -> publish\"]");
}

TEST(Show, WithAndWithoutPlaceLineAndHint) {
  const Diagnostic whole{Severity::error, {"a.toml", 2}, "text", "mend it"};
  EXPECT_EQ(show(whole, {"a.toml", {"one", "  two\t"}}), "trama: error: a.toml:2: text\n    two\n    hint: mend it\n");
  EXPECT_EQ(show(whole, {"a.toml", {"one"}}), "trama: error: a.toml:2: text\n    hint: mend it\n");
  EXPECT_EQ(show(whole, {"a.toml", {"", "a = \"nats://me:se@cret@host/x\", \"b@c\""}}),
            "trama: error: a.toml:2: text\n    a = \"nats://\u2026@host/x\", \"b@c\"\n    hint: mend it\n");
  EXPECT_EQ(show({Severity::warning, {"a.toml", 0}, "text", ""}, {"a.toml", {"one"}}),
            "trama: warning: a.toml: text\n");
  EXPECT_EQ(show({Severity::note, {}, "text", ""}, {}), "trama: note: text\n");
}

TEST(Show, NoLineOfAnotherFile) {
  const Diagnostic other{Severity::error, {"privacy.txt", 1}, "text", ""};
  EXPECT_EQ(show(other, {"a.toml", {"links"}}), "trama: error: privacy.txt:1: text\n");
  EXPECT_EQ(show({Severity::error, {"", 1}, "text", ""}, {"a.toml", {"links"}}), "trama: error: text\n");
}

// A key file, or a capture, may be given for a graph file.
TEST(Show, NoKeysAndNoPackets) {
  const auto shown = [](const std::string& line) {
    return show({Severity::error, {"k", 1}, "text", ""}, {"k", {line}});
  };
  const std::string key = "0123456789abcdefABCDEF9876543210";
  const std::string begin = "trama: error: k:1: text\n";
  EXPECT_EQ(shown(key), begin + "    \u2026\n");
  EXPECT_EQ(shown(key + key), begin + "    \u2026\n");
  EXPECT_EQ(shown("key = \"" + key + "\" # mine"), begin + "    key = \"\u2026\" # mine\n");
  EXPECT_EQ(shown(std::string(150, 'x') + key), begin + "    " + std::string(150, 'x') + "\u2026\n");
  EXPECT_EQ(shown(key.substr(1)), begin + "    " + key.substr(1) + "\n");
  EXPECT_EQ(shown("E\xf0\x9f"), begin);
  EXPECT_EQ(shown(std::string("E\0\0@", 4)), begin);
}

TEST(Show, KeepsAwayFromTheTerminal) {
  const Diagnostic hostile{Severity::error,
                           {"a\x1b[2J", 1},
                           "t\x1b[31m",
                           "h\r\xc2\x9b"
                           "31m\x9b"
                           "32m"};
  const std::string shown = show(hostile, {"a\x1b[2J", {"\x1b]0;x\x07\xc2\x9b" + std::string(500, 'x')}});
  EXPECT_EQ(shown.find_first_of("\x1b\x07\r\x9b"), std::string::npos);
  EXPECT_NE(shown.find("xxx"), std::string::npos);
  EXPECT_LT(shown.size(), 300u);
}

}  // namespace
}  // namespace trama
