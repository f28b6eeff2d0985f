#include "modules/messages.hpp"
#include "modules/support/run_report.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

class PcapFilter : public ::testing::Test {
 protected:
  // The verdicts after the filter: one Ethernet, one raw IP packet from 10.0.0.1, one from elsewhere, one of a link
  // type that no expression is compiled for.
  std::vector<Verdict> verdicts(StageHarness<PacketBatch, PacketBatch>& harness) {
    const CapturedPacket packets[] = {CapturedPacket(ethernet_ipv4_packet(0x0A000001, 2)),
                                      CapturedPacket(raw_ipv4_packet(0x0A000001, 2)),
                                      CapturedPacket(raw_ipv4_packet(0x0B000001, 2)), CapturedPacket(PacketBytes(40))};
    const uint16_t links[] = {kEthernetLink, kRawLink, kRawLink, 147};
    PacketBatch* batch = harness.input();
    if (batch == nullptr) return {};
    batch->count = 4;
    batch->tally = {};
    for (size_t i = 0; i < 4; ++i) batch->packets[i] = packets[i].packet(links[i]);
    harness.push(batch);
    std::vector<Verdict> verdicts;
    if (PacketBatch* out = harness.next())
      for (size_t i = 0; i < out->count; ++i) verdicts.push_back(out->packets[i].verdict);
    return verdicts;
  }
};

TEST_F(PcapFilter, MatchesEachPacketByItsLinkType) {
  auto report = std::make_shared<RunReport>();
  {
    StageHarness<PacketBatch, PacketBatch> harness("pcap_filter", "expression = \"src host 10.0.0.1\"");
    harness.services().add(report);
    EXPECT_EQ(verdicts(harness),
              (std::vector<Verdict>{Verdict::counted, Verdict::counted, Verdict::filtered, Verdict::filtered}));
  }
  const auto messages = report->take_messages();  // said once, at the end
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].severity, Severity::warning);
  EXPECT_NE(messages[0].text.find("147"), std::string::npos);
}

TEST_F(PcapFilter, WithoutAnExpressionEverythingPasses) {
  StageHarness<PacketBatch, PacketBatch> harness("pcap_filter");
  EXPECT_EQ(verdicts(harness), std::vector<Verdict>(4, Verdict::counted));
}

TEST_F(PcapFilter, AWrongExpressionIsRefusedInTheLibrarysWords) {
  StageHarness<PacketBatch, PacketBatch> harness("pcap_filter", "expression = \"prot tcp\"");
  const Diagnostics wrong = harness.start();
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_NE(wrong[0].text.find("compiled"), std::string::npos);
}

}  // namespace
}  // namespace trama
