#include "engine/plan.hpp"

#include <gtest/gtest.h>

#include "tests/engine/test_kinds.hpp"

namespace trama {
namespace {

constexpr const char* kLinks = "links = [\"numbers -> half -> reorder -> merge -> cut -> measure -> null\"]\n";

tl::expected<Plan, Diagnostics> planned(const std::string& graph, const std::string& half,
                                        const std::vector<int>& processors) {
  const auto spec = parse_graph("[graph]\n" + graph + kLinks + "[stages.half]\n" + half, "graph.toml");
  EXPECT_TRUE(spec);
  auto checked = check(spec.value(), test_kinds());
  EXPECT_TRUE(checked);
  return make_plan(std::move(checked.value()), processors);
}

TEST(Plan, Standards) {
  const auto plan = planned("", "", {0, 1, 2});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->workers, 3u);
  EXPECT_EQ(plan->domain_credits, (std::vector<size_t>{32, 8}));
  EXPECT_TRUE(plan->worker_cores.empty());
  EXPECT_EQ(plan->sizes.batch_items, 1024u);
  EXPECT_EQ(plan->sizes.window_items, 131072u);
  EXPECT_EQ(plan->graph.nodes.size(), 7u);
}

TEST(Plan, WhatIsWrittenWins) {
  const auto plan =
      planned("workers = 5\nbatch_credits = 4\nwindow_credits = 1\nwindow_packets = 8\nbatch_packets = 2\n", "", {0});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->workers, 5u);
  EXPECT_EQ(plan->domain_credits, (std::vector<size_t>{4, 1}));
  EXPECT_EQ(plan->sizes.batch_items, 2u);
  EXPECT_EQ(plan->sizes.window_items, 8u);
}

TEST(Plan, TheStandardIsNeverLessThanTheStagesKeep) {
  // 12 stages that keep 3 each: more than the standard of 32.
  std::string links = "numbers", tables;
  for (int i = 0; i < 12; ++i) {
    links += " -> m" + std::to_string(i);
    tables += "[stages.m" + std::to_string(i) + "]\nkind = \"merge\"\n";
  }
  const auto spec = parse_graph("[graph]\nlinks = [\"" + links + " -> null\"]\n" + tables, "graph.toml");
  ASSERT_TRUE(spec);
  auto checked = check(*spec, test_kinds());
  ASSERT_TRUE(checked);
  const auto plan = make_plan(std::move(*checked), {0});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->domain_credits, std::vector<size_t>{37});
}

TEST(Plan, NoProcessorsKnownIsOneWorker) {
  const auto plan = planned("", "", {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->workers, 1u);
}

TEST(Plan, PinnedWorkersTakeTheFirstProcessors) {
  const auto plan = planned("pin = true\nworkers = 2\n", "", {3, 5, 8});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->worker_cores, (std::vector<int>{3, 5}));
}

TEST(Plan, CoresOfAStagePin) {
  const auto plan = planned("", "replicas = 2\ncores = [5, 8]\n", {3, 5, 8});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->worker_cores, (std::vector<int>{3, 5, 8}));
}

TEST(Plan, Refuses) {
  struct Case {
    const char *graph, *half;
    int line;
    const char* text;
  };
  const Case cases[] = {
      {"workers = 2\n", "cores = [8]\n", 5, "no worker runs there"},
      {"workers = 2\n", "cores = [4]\n", 5, "doesn't have"},
      {"pin = true\nworkers = 4\n", "", 3, "4 workers can't be pinned to 3 processors"},
      {"workers = 4\n", "cores = [3]\n", 2, "4 workers can't be pinned to 3 processors"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.graph) + c.half);
    const auto plan = planned(c.graph, c.half, {3, 5, 8});
    ASSERT_FALSE(plan);
    ASSERT_EQ(plan.error().size(), 1u);
    EXPECT_EQ(plan.error()[0].place, (Place{"graph.toml", c.line}));
    EXPECT_NE(plan.error()[0].text.find(c.text), std::string::npos) << plan.error()[0].text;
  }
}

}  // namespace
}  // namespace trama
