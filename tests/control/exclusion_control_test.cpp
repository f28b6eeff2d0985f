#include "control/exclusion_control.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/control/running_graph.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint32_t address(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return a << 24 | b << 16 | c << 8 | d; }

std::string excluding(const std::string& parameters) {
  return test::small_graph("[stages.exclude]\n" + parameters + "\n");
}

bool excludes(test::RunningGraph& graph, uint32_t source) {
  return graph.rules->current()->ranges->excludes(source, address(8, 8, 8, 8));
}

TEST(ExclusionControl, RangesComeAndGo) {
  test::RunningGraph graph(excluding("ranges = [\"10.0.0.0/8\"]"));
  RunControl& control = *graph.control;
  EXPECT_THAT(control.exclude_list()->typed, ElementsAre("10.0.0.0/8"));
  const uint32_t before = graph.rules->id();

  const auto added = control.exclude_add("192.0.2.0/24:source");
  ASSERT_TRUE(added);
  EXPECT_TRUE(added->changed);
  EXPECT_EQ(added->ranges, 2U);
  EXPECT_NE(graph.rules->id(), before);
  EXPECT_TRUE(excludes(graph, address(192, 0, 2, 1)));
  EXPECT_TRUE(excludes(graph, address(10, 1, 1, 1)));

  const auto again = control.exclude_add("192.0.2.0/24:source");
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->changed);
  EXPECT_FALSE(control.exclude_add("10.0.0.0/8:either")->changed) << "another way to write what is there";
  EXPECT_THAT(control.exclude_list()->typed, ElementsAre("10.0.0.0/8", "192.0.2.0/24:source"));

  // Also what the graph file has, however it is written.
  const auto removed = control.exclude_remove("10.0.0.0/8:either");
  ASSERT_TRUE(removed);
  EXPECT_TRUE(removed->changed);
  EXPECT_EQ(removed->ranges, 1U);
  EXPECT_FALSE(excludes(graph, address(10, 1, 1, 1)));
  EXPECT_TRUE(control.exclude_remove("192.0.2.0/24:source")->changed);
  EXPECT_EQ(control.exclude_list()->ranges, 0U);
}

TEST(ExclusionControl, WhatIsWrongChangesNothing) {
  test::RunningGraph graph(excluding("ranges = [\"10.0.0.0/8\"]"));
  const uint32_t before = graph.rules->id();
  for (const char* range : {"", "10.0.0.1/8", "10.0.0.0/33", "::ffff:1.2.3.0/120", "10.0.0.0/8:left", "x"})
    EXPECT_FALSE(graph.control->exclude_add(range)) << range;
  for (const char* range : {"x", "10.0.0.0/9", "10.0.0.0/8:source"})
    EXPECT_FALSE(graph.control->exclude_remove(range)) << range;
  EXPECT_EQ(graph.rules->id(), before);
  EXPECT_THAT(graph.control->exclude_list()->typed, ElementsAre("10.0.0.0/8"));
}

TEST(ExclusionControl, FilesAreReadAgainWithEveryChangeAndShowNothing) {
  const test::ScratchFolder folder;
  const std::string file = folder / "private.txt";
  test::write_file(file, std::string("198.51.100.0/24\n203.0.113.0/24\n"));
  test::RunningGraph graph(excluding("files = [\"" + file + "\"]"));
  RunControl& control = *graph.control;
  EXPECT_EQ(control.exclude_list()->ranges, 2U);
  EXPECT_THAT(control.exclude_list()->typed, IsEmpty());
  EXPECT_THAT(control.exclude_list()->files, ElementsAre(file));

  const auto unmoved = control.exclude_remove("198.51.100.0/24");
  ASSERT_FALSE(unmoved);
  EXPECT_THAT(unmoved.error().front().hint, HasSubstr("file"));
  EXPECT_FALSE(control.reload()->changed);

  test::write_file(file, std::string("198.51.100.0/24\n"));
  const auto reread = control.reload();
  ASSERT_TRUE(reread);
  EXPECT_TRUE(reread->changed);
  EXPECT_EQ(reread->ranges, 1U);

  test::write_file(file, std::string("198.51.100.0/24\n203.0.113.7"));  // somebody is still writing
  const uint32_t before = graph.rules->id();
  EXPECT_FALSE(control.reload());
  EXPECT_FALSE(control.exclude_add("10.0.0.0/8"));
  EXPECT_EQ(graph.rules->id(), before);
  test::write_file(file, std::string("203.0.113.0/24\n"));
  EXPECT_EQ(control.exclude_add("192.0.2.0/24")->ranges, 2U) << "what failed before is not kept";
  EXPECT_FALSE(excludes(graph, address(10, 1, 1, 1)));
  EXPECT_TRUE(excludes(graph, address(203, 0, 113, 7)));
}

TEST(ExclusionControl, AGraphThatExcludesNothingSaysSo) {
  test::RunningGraph graph("[graph]\nlinks = [\"synthetic -> null\"]\n");
  for (const auto& error : {graph.control->exclude_add("10.0.0.0/8").error(), graph.control->exclude_list().error(),
                            graph.control->exclude_remove("10.0.0.0/8").error()})
    EXPECT_THAT(error.front().text, HasSubstr("no `exclude` stage"));
  EXPECT_THAT(graph.control->reload().error().front().text, HasSubstr("no file of ranges"));
}

TEST(RuntimeControl, KeyAndFlushAreNewRules) {
  const test::ScratchFolder folder;
  test::RunningGraph graph(test::small_graph());
  uint32_t id = graph.rules->id();
  EXPECT_TRUE(graph.control->flush());
  EXPECT_NE(graph.rules->id(), id);
  id = graph.rules->id();
  const auto made = graph.control->rotate_key({});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->size(), 16U);
  EXPECT_NE(graph.rules->id(), id);

  id = graph.rules->id();
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& file : {pipe, folder.path().string(), (folder / "nothing").string()})
    EXPECT_FALSE(graph.control->rotate_key({file})) << file;
  EXPECT_EQ(graph.rules->id(), id);
}

TEST(RuntimeControl, StopsTheSources) {
  test::RunningGraph graph(test::small_graph());
  EXPECT_FALSE(graph.control->stopping());
  graph.control->stop();
  EXPECT_TRUE(graph.control->stopping());
  EXPECT_TRUE(graph.runtime->run());
  EXPECT_EQ(graph.ledger.sum().seen(), 0U);
}

}  // namespace
}  // namespace trama
