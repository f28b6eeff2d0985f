#include "ebpf/unfilled_maps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trama::ebpf {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> unfilled(const std::string& folder, const std::string& name, const ModuleOptions& options) {
  const auto module = FilterModule::load(folder + "/" + name + ".bpf.o", options);
  EXPECT_TRUE(module) << describe(module.error());
  return module ? unfilled_maps(**module) : std::vector<std::string>{"not loaded"};
}

TEST(UnfilledMaps, AreThoseThatOnlyTheUserFills) {
  const std::string shipped = TRAMA_FILTERS;
  EXPECT_THAT(unfilled(shipped, "sample", {}), ElementsAre("one_in"));
  EXPECT_THAT(unfilled(shipped, "sample", {.entries = {"one_in: 0 = 0"}}), ElementsAre("one_in"));
  EXPECT_THAT(unfilled(shipped, "sample", {.entries = {"one_in: 0 = 100"}}), IsEmpty());
  EXPECT_THAT(unfilled(shipped, "ports", {}), ElementsAre("ports"));
  EXPECT_THAT(unfilled(shipped, "ports", {.entries = {"ports: any = 0"}}), IsEmpty());
  EXPECT_THAT(unfilled(shipped, "template", {}), ElementsAre("wanted"));
  EXPECT_THAT(unfilled(shipped, "prefix_count", {}), ElementsAre("prefixes_v4", "prefixes_v6"));
  EXPECT_THAT(unfilled(shipped, "privacy_ranges", {}), ElementsAre("ranges_v4", "ranges_v6"));
  EXPECT_THAT(unfilled(shipped, "privacy_ranges", {.ranges = {"10.0.0.0/8:either"}}), IsEmpty());
}

TEST(UnfilledMaps, AreNotThoseOfOtherPrograms) {
  EXPECT_THAT(unfilled(TRAMA_TEST_FILTERS, "verdicts", {.program = "drops"}), IsEmpty());
}

}  // namespace
}  // namespace trama::ebpf
