#include <set>

#include "modules/messages.hpp"
#include "modules/support/header_walk.hpp"
#include "modules/support/run_report.hpp"
#include "modules/support/synthetic_traffic.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

std::vector<std::pair<uint32_t, uint32_t>> packets_of(const std::string& parameters) {
  StageHarness<void, PacketBatch> harness("synthetic", parameters, {.credits = 3});
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  while (PacketBatch* batch = harness.next()) {
    EXPECT_TRUE(batch->synthetic);
    for (size_t i = 0; i < batch->count; ++i) {
      const Packet& packet = batch->packets[i];
      const Walked walked = walk(packet.link_type, packet.data, packet.captured);
      EXPECT_EQ(walked.verdict, Verdict::counted);
      pairs.emplace_back(walked.source, walked.destination);
    }
  }
  return pairs;
}

TEST(Synthetic, SameSeedSamePackets) {
  static const char* const kModels[] = {"uniform", "zipf", "darknet"};
  for (const char* model : kModels) {
    const std::string common = std::string("model = \"") + model + "\"\npackets = 1000\n";
    const auto packets = packets_of(common + "seed = 5");
    EXPECT_EQ(packets.size(), 1000u);
    EXPECT_EQ(packets, packets_of(common + "seed = 5"));
    EXPECT_NE(packets, packets_of(common + "seed = 6"));
  }
}

TEST(Synthetic, PreparedPacketsComeOverAndOverAgain) {
  const auto drawn = packets_of("packets = 70\nseed = 5");
  const auto prepared = packets_of("packets = 2500\nseed = 5\nprepared = 70");
  ASSERT_EQ(prepared.size(), 2500u);
  for (size_t i = 0; i < prepared.size(); ++i) ASSERT_EQ(prepared[i], drawn[i % drawn.size()]) << i;
}

TEST(Synthetic, ModelsAreWhatTheirNamesSay) {
  const auto count = [](TrafficModel model) {
    SyntheticTraffic traffic(model, 1);
    std::set<std::pair<uint32_t, uint32_t>> links;
    std::set<uint32_t> sources;
    for (int i = 0; i < 1 << 17; ++i) {
      const AddressPair pair = traffic.draw();
      links.emplace(pair.source, pair.destination);
      sources.insert(pair.source);
    }
    return std::pair(links.size(), sources.size());
  };
  EXPECT_GT(count(TrafficModel::uniform).first, 131000u);
  EXPECT_NEAR(static_cast<double>(count(TrafficModel::zipf).first), 64000, 4000);
  EXPECT_NEAR(static_cast<double>(count(TrafficModel::zipf).second), 22000, 1500);
  EXPECT_GT(count(TrafficModel::darknet).first, 125000u);
}

TEST(Synthetic, ReportsItselfAsAnInput) {
  StageHarness<void, PacketBatch> harness("synthetic", "packets = 70", {.sizes = {.batch_items = 64}});
  while (harness.next()) {
  }
  const auto inputs = harness.services().get<RunReport>()->inputs();
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].packets, 70u);
  EXPECT_EQ(inputs[0].status, InputStatus::ok);
}

}  // namespace
}  // namespace trama
