#include "engine/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/test_kinds.hpp"

namespace trama {
namespace {

TEST(Registry, KindsAreFoundAndSorted) {
  const Registry& registry = test_kinds();
  ASSERT_NE(registry.find("half"), nullptr);
  EXPECT_EQ(registry.find("half")->info.kind, "half");
  EXPECT_EQ(registry.find("hal"), nullptr);
  EXPECT_TRUE(std::is_sorted(registry.kinds().begin(), registry.kinds().end(),
                             [](const auto& a, const auto& b) { return a.info.kind < b.info.kind; }));
}

TEST(Registry, DescribesWhatAClassIs) {
  const StageKind& source = *test_kinds().find("numbers");
  EXPECT_TRUE(source.source && !source.sink && !source.any_type && source.makes_buffers());
  EXPECT_EQ(source.input, nullptr);
  EXPECT_EQ(source.output->name, "Number");
  EXPECT_EQ(source.parameters.size(), 5u);
  const StageKind& same = *test_kinds().find("same");
  EXPECT_TRUE(same.any_type && !same.source && !same.sink && !same.makes_buffers());
  const StageKind& half = *test_kinds().find("half");
  EXPECT_EQ(half.input, half.output);
  EXPECT_FALSE(half.makes_buffers());
  EXPECT_TRUE(test_kinds().find("cut")->makes_buffers());
  EXPECT_TRUE(test_kinds().find("null")->sink);
}

TEST(RegistryDeathTest, OurOwnMistakesEndTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto adds = [](const char* kind, auto change) {
    Registry registry;
    StageKind changed = *test_kinds().find(kind);
    change(changed);
    registry.add(changed);
  };
  EXPECT_DEATH(
      {
        Registry registry;
        registry.add(*test_kinds().find("half"));
        registry.add(*test_kinds().find("half"));
      },
      "registered twice");
  EXPECT_DEATH(adds("half", [](StageKind& k) { k.info.kind = ""; }), "no name");
  EXPECT_DEATH(adds("half", [](StageKind& k) { k.check = nullptr; }), "checked or made");
  EXPECT_DEATH(adds("half", [](StageKind& k) { k.output = nullptr; }), "makes no type");
  EXPECT_DEATH(adds("half", [](StageKind& k) { k.input = nullptr; }), "takes no type");
  EXPECT_DEATH(adds("half", [](StageKind& k) { k.info.ordering = Ordering::restores; }), "restores order");
  EXPECT_DEATH(adds("numbers", [](StageKind& k) { k.info.numbering = Numbering::follows; }), "opens no numbers");
  EXPECT_DEATH(adds("numbers", [](StageKind& k) { k.sink = true; }), "makes nothing");
  EXPECT_DEATH(adds("cut", [](StageKind& k) { k.info.parallelism = Parallelism::replicated; }), "have replicas");
  EXPECT_DEATH(adds("sum", [](StageKind& k) { k.info.numbering = Numbering::opens; }), "sink that opens");
  EXPECT_DEATH(adds("same", [](StageKind& k) { k.output = test_kinds().find("half")->output; }), "pass on");
  EXPECT_DEATH(adds("half", [](StageKind& k) { k.parameters.push_back({"route", "text", "", ""}); }), "engine key");
}

}  // namespace
}  // namespace trama
