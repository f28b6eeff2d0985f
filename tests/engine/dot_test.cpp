#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "engine/check.hpp"
#include "tests/engine/test_kinds.hpp"

namespace trama {
namespace {

constexpr const char* kDrawnGraph = R"(
[graph]
links = ["numbers -> cut -> measure -> in_order -> sum, publish"]
[stages.measure]
replicas = 3
route = "by_window"
[stages.in_order]
kind = "reorder"
)";

std::string drawn(const std::string& text) {
  const auto spec = parse_graph(text, "graph.toml");
  EXPECT_TRUE(spec);
  const auto graph = check(spec.value(), test_kinds());
  EXPECT_TRUE(graph);
  return to_dot(graph.value());
}

TEST(Dot, Text) {
  EXPECT_EQ(drawn(kDrawnGraph), R"(digraph trama {
  rankdir=LR;
  node [shape=box];
  subgraph cluster_0 {
    label=batches;
    style=dotted;
    "numbers" [label="numbers\nserial"];
  }
  subgraph cluster_1 {
    label=windows;
    style=dotted;
    "cut" [label="cut\nserial"];
    "measure" [label="measure\n3 replicas"];
    "in_order" [label="in_order\nreorder\nserial", style=rounded];
    "sum" [label="sum\nserial"];
    "publish" [label="publish\nserial"];
  }
  "numbers" -> "cut" [label="Number"];
  "cut" -> "measure" [label="Span by window"];
  "measure" -> "in_order" [label="Result"];
  "in_order" -> "sum" [label="Result"];
  "in_order" -> "publish" [label="Result", style=dashed];
}
)");
}

TEST(Dot, GraphvizTakesIt) {
  if (std::system("dot -V >/dev/null 2>&1") != 0) GTEST_SKIP() << "Graphviz isn't installed";
  FILE* dot = popen("dot -Tsvg >/dev/null", "w");
  ASSERT_NE(dot, nullptr);
  const std::string text = drawn(kDrawnGraph);
  EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), dot), text.size());
  EXPECT_EQ(pclose(dot), 0);
}

}  // namespace
}  // namespace trama
