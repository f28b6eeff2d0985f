#include <gtest/gtest.h>

#include "modules/messages.hpp"
#include "modules/support/device_plugin.hpp"
#include "modules/support/run_report.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using Harness = StageHarness<void, PacketBatch>;

TEST(Dpdk, RefusesWhatCantBe) {
  const struct {
    const char* parameters;
    const char* text;
  } cases[] = {
      {"", "no device to receive from"},
      {"devices = \"all\"\neal = [\"-l 1\", \"--help\"]", "would print EAL's options"},
      {"devices = \"all\"\nrole = \"mirror\"", "mirror"},
      {"devices = \"all\"\nburst = 2", "2"},
      {"devices = \"all\"\nsleep_us = 1000000", "1000000"},
      {"device = \"all\"", "device"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.parameters);
    const Diagnostics wrong = Harness("dpdk", one.parameters).start();
    ASSERT_FALSE(wrong.empty());
    EXPECT_NE(wrong.front().text.find(one.text), std::string::npos) << wrong.front().text;
  }
}

// DPDK's libraries may not have been there when this was built.
bool plugin_is_there() {
  return load_device_plugin({"trama-dpdk.so", "DPDK", "librte-meta-net", "libdpdk-dev"}).has_value();
}

TEST(Dpdk, ReceivesThroughItsPlugin) {
  if (!plugin_is_there()) GTEST_SKIP() << "built without DPDK";
  Harness harness("dpdk", "devices = [\"net_null0,size=100\"]\nhuge_pages = \"no\"\npackets = 1000\nmbufs = 2048");
  uint64_t packets = 0;
  while (const PacketBatch* batch = harness.next()) {
    for (size_t i = 0; i < batch->count; ++i) {
      EXPECT_EQ(batch->packets[i].captured, 100u);
      EXPECT_EQ(batch->packets[i].link_type, 1u);
      EXPECT_GT(batch->packets[i].time_ns, int64_t{1'700'000'000'000'000'000});
    }
    packets += batch->count;
  }
  EXPECT_EQ(packets, 1000u);
  EXPECT_TRUE(harness.ended());
  const auto inputs = harness.services().get<RunReport>()->inputs();
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].name, "net_null0");
  EXPECT_EQ(inputs[0].packets, 1000u);
}

}  // namespace
}  // namespace trama
