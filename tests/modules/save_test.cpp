#include "modules/messages.hpp"
#include "modules/support/run_report.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

class Save : public ::testing::Test {
 protected:
  void push(StageHarness<PacketBatch, Nothing>& harness, bool synthetic) {
    PacketBatch* batch = harness.input();
    if (batch == nullptr) return;
    batch->count = 1;
    batch->tally = {};
    batch->synthetic = synthetic;
    batch->packets[0] = packet_.packet(kRawLink, 1'700'000'000'000'000'123);
    harness.push(batch);
  }
  const CapturedPacket packet_{raw_ipv4_packet(1, 2)};
  const test::ScratchFolder folder_;
  const std::string file_ = folder_ / "made.pcap";
};

TEST_F(Save, WritesACaptureThatIsRead) {
  StageHarness<PacketBatch, Nothing> harness("save", "file = \"" + file_ + "\"");
  for (int i = 0; i < 3; ++i) push(harness, true);
  harness.finish();
  auto reader = CaptureReader::open(file_);
  ASSERT_TRUE(reader);
  PacketBlock block;
  std::vector<Packet> packets(16);
  size_t count = 0;
  ASSERT_EQ(reader->read(block, packets, count), CaptureReader::Status::packets);
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(packets[2].link_type, kRawLink);
  EXPECT_EQ(packets[2].time_ns, 1'700'000'000'000'000'123);
  EXPECT_EQ(std::vector(packets[2].data, packets[2].data + packets[2].captured), raw_ipv4_packet(1, 2));
}

TEST_F(Save, TakesNobodysPacketsButTheGenerators) {
  StageHarness<PacketBatch, Nothing> harness("save", "file = \"" + file_ + "\"");
  push(harness, false);
  harness.finish();
  EXPECT_TRUE(harness.services().get<RunReport>()->has_output_failed());
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(Save, NeverOverAFile) {
  test::write_file(file_, std::string("precious"));
  StageHarness<PacketBatch, Nothing> harness("save", "file = \"" + file_ + "\"");
  EXPECT_FALSE(harness.start().empty());
  EXPECT_EQ(test::read_text(file_), "precious");
}

}  // namespace
}  // namespace trama
