#include <gtest/gtest.h>

#include <chrono>

#include "modules/messages.hpp"
#include "modules/support/device_plugin.hpp"
#include "modules/support/run_report.hpp"
#include "tests/support/network_namespace.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using Harness = StageHarness<void, PacketBatch>;
using test::FrameSocket;
using test::NetworkNamespace;

TEST(AfXdp, RefusesWhatCantBe) {
  const struct {
    const char* parameters;
    const char* text;
  } cases[] = {
      {"role = \"tap\"", "no interface to capture from"},
      {"interfaces = \"lo\"", "takes all that arrives at an interface away from this host"},
      {"interfaces = \"lo\"\nrole = \"tap\"\nframes = 7", "7"},
      {"interfaces = \"lo\"\nrole = \"tap\"\ncopy = \"perhaps\"", "perhaps"},
      {"interfaces = \"no-such-one\"\nrole = \"tap\"", "no-such-one"},
      {"interfaces = \"any\"\nrole = \"tap\"", "from all interfaces at once"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.parameters);
    const Diagnostics wrong = Harness("af_xdp", one.parameters).start();
    ASSERT_FALSE(wrong.empty());
    EXPECT_NE(wrong.front().text.find(one.text), std::string::npos) << wrong.front().text;
  }
}

class AfXdpWire : public testing::Test {
 protected:
  void SetUp() override {
    if (!load_device_plugin({"trama-af_xdp.so", "libxdp", "libxdp1", "libxdp-dev"}))
      GTEST_SKIP() << "built without libxdp";
    if (!network_.why_not().empty()) GTEST_SKIP() << network_.why_not();
    inside_.emplace(network_);
  }
  // Runs the source until it has given so many packets.
  std::vector<PacketBytes> receive(Harness& harness, size_t packets) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::vector<PacketBytes> received;
    while (received.size() < packets && std::chrono::steady_clock::now() < until)
      while (const PacketBatch* batch = harness.next())
        for (size_t i = 0; i < batch->count; ++i)
          received.emplace_back(batch->packets[i].data, batch->packets[i].data + batch->packets[i].captured);
    return received;
  }

  NetworkNamespace network_;
  std::optional<NetworkNamespace::Inside> inside_;
};

TEST_F(AfXdpWire, FramesAreAsTheyWereSent) {
  for (const char* mode : {"native", "generic"}) {
    SCOPED_TRACE(mode);
    const std::string name = std::string("tap") + mode[0], far = std::string("wire") + mode[0];
    network_.add_pair(name, far);
    Harness harness("af_xdp", "interfaces = \"" + name + "\"\nrole = \"tap\"\nframes = 512\nmode = \"" + mode + "\"");
    const Diagnostics wrong = harness.start();
    if (!wrong.empty()) GTEST_SKIP() << wrong.front().text;
    FrameSocket wire(far);
    std::vector<PacketBytes> sent;
    // More than there are frames, so that they must have gone back.
    for (uint32_t i = 0; i < 2000; ++i) {
      sent.push_back(ethernet_ipv4_packet(i, 0xc0000201, i % 1400));
      wire.send(sent.back());
      if (sent.size() % 100 != 0) continue;
      const auto received = receive(harness, 100);
      ASSERT_EQ(received.size(), 100u);
      for (size_t k = 0; k < 100; ++k) EXPECT_EQ(received[k], sent[sent.size() - 100 + k]);
    }
    harness.finish();
    while (harness.next()) {
    }
    EXPECT_TRUE(harness.ended());
    const auto inputs = harness.services().get<RunReport>()->inputs();
    ASSERT_EQ(inputs.size(), 1u);
    EXPECT_EQ(inputs[0].name, name);
    EXPECT_EQ(inputs[0].packets, 2000u);
  }
}

TEST_F(AfXdpWire, LongFramesComeInPieces) {
  network_.add_pair("tap0", "wire0", 9000);
  Harness harness("af_xdp", "interfaces = \"tap0\"\nrole = \"tap\"\nframes = 512");
  const Diagnostics wrong = harness.start();
  if (!wrong.empty()) GTEST_SKIP() << wrong.front().text;
  for (const Diagnostic& message : harness.services().get<RunReport>()->take_messages())
    if (message.severity == Severity::warning && message.text.find("are lost") != std::string::npos)
      GTEST_SKIP() << message.text;
  FrameSocket wire("wire0");
  for (int round = 0; round < 20; ++round) {  // more pieces than there are frames
    for (uint32_t i = 0; i < 30; ++i) wire.send(ethernet_ipv4_packet(i, 2, 100 + 290 * i));
    const auto received = receive(harness, 30);
    ASSERT_EQ(received.size(), 30u);
    for (uint32_t i = 0; i < 30; ++i) {
      const PacketBytes whole = ethernet_ipv4_packet(i, 2, 100 + 290 * i);
      ASSERT_LE(received[i].size(), whole.size());
      ASSERT_GE(received[i].size(), 34u);
      EXPECT_TRUE(std::equal(received[i].begin(), received[i].end(), whole.begin()));
    }
  }
}

}  // namespace
}  // namespace trama
