// The stage on a loopback interface in a network namespace of the test's own. What needs a second interface, or a whole
// run, is in tests/end_to_end/test_live.py and test_live_accounts.py.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

#include "modules/messages.hpp"
#include "modules/support/header_walk.hpp"
#include "modules/support/run_report.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using testing::HasSubstr;

TEST(AfPacketParameters, AreRefusedWithWhatMendsThem) {
  const struct {
    const char *parameters, *text, *hint;
  } cases[] = {
      {"", "no interface to capture from", "-i IFACE"},
      {"interfaces = [\"lo\"]\nring_bytes = 4096", "ring_bytes", "262144"},
      {"interfaces = [\"lo\"]\nblock_timeout_ms = 0", "block_timeout_ms", "1"},
      {"interfaces = [\"lo\"]\nsnap_bytes = 10", "snap_bytes", "64"},
      {"interfaces = [\"lo\"]\ndirection = \"up\"", "direction", "both, in, out"},
      {"interfaces = [\"lo\"]\nfanout = \"hsah\"", "fanout", "hash"},
      {"interfaces = [\"no-such-one\"]", "there is no interface `no-such-one`", "there are"},
      {"interfaces = [\"lo\", \"lo\"]", "captured twice", ""},
      {"interfaces = [\"any\", \"lo\"]", "captured twice", ""},
  };
  for (const auto& wrong : cases) {
    SCOPED_TRACE(wrong.parameters);
    StageHarness<void, PacketBatch> harness("af_packet", wrong.parameters);
    const Diagnostics said = harness.start();
    ASSERT_FALSE(said.empty());
    EXPECT_THAT(said.front().text, HasSubstr(wrong.text));
    EXPECT_THAT(said.front().hint, HasSubstr(wrong.hint));
  }
}

using SourceHarness = StageHarness<void, PacketBatch>;

// Sends packets over the loopback interface; each holds its number.
class Sender {
 public:
  Sender() : socket_(socket(AF_INET, SOCK_DGRAM, 0)), receiver_(socket(AF_INET, SOCK_DGRAM, 0)) {
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
    EXPECT_EQ(ioctl(socket_, SIOCSIFFLAGS, &request), 0);
    to_.sin_family = AF_INET;
    to_.sin_port = htons(9);
    to_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(receiver_, reinterpret_cast<sockaddr*>(&to_), sizeof to_), 0);
  }
  ~Sender() {
    close(socket_);
    close(receiver_);
  }
  void send(uint32_t packets) {
    for (; packets > 0; --packets, ++sent)
      ASSERT_EQ(sendto(socket_, &sent, sizeof sent, 0, reinterpret_cast<sockaddr*>(&to_), sizeof to_), 4);
  }
  uint32_t sent = 0;

 private:
  int socket_, receiver_;  // the second only so that nobody answers that nobody listens
  sockaddr_in to_{};
};

// What a harness hands out, as far as the test goes on asking.
struct Received {
  size_t batches = 0, packets = 0;
  uint64_t dropped = 0;
  uint32_t next = 0;  // number that the next packet must hold, where none was dropped
  bool in_order = true;
  std::set<uint32_t> rules;

  bool take(SourceHarness& harness) {
    PacketBatch* batch = harness.next();
    if (!batch) return false;
    ++batches;
    packets += batch->count;
    dropped += batch->tally.dropped_kernel;
    EXPECT_EQ(batch->tally.dropped_ring, 0u) << "it gave up before all was read";
    rules.insert(batch->rules.id());
    EXPECT_GT(batch->received_ns, 0);
    EXPECT_EQ(batch->lease != nullptr, batch->count > 0);
    for (size_t i = 0; i < batch->count; ++i) {
      const Packet& packet = batch->packets[i];
      EXPECT_EQ(walk(packet.link_type, packet.data, packet.captured),
                (Walked{Verdict::counted, 0x7f000001, 0x7f000001}));
      uint32_t number;
      std::memcpy(&number, packet.data + packet.captured - sizeof number, sizeof number);
      in_order = in_order && number == next++;
    }
    return true;
  }
  // Until so many packets have come, or, with 0, until the stage has ended; a minute at most.
  void take(SourceHarness& harness, size_t until) {
    for (int patience = 60000; patience > 0 && (until == 0 ? !harness.ended() : packets < until); --patience)
      if (!take(harness)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    while (until == 0 && take(harness)) {
    }
  }
};

class AfPacketOnLoopback : public testing::Test {
 protected:
  // In a thread of its own, which is in a network namespace of its own.
  template <class Body>
  void inside(Body body) {
    bool possible = true;
    std::thread thread([&] {
      possible = unshare(CLONE_NEWNET) == 0;
      if (possible) body();
    });
    thread.join();
    if (!possible) GTEST_SKIP() << "no network namespace without privileges";
  }
};

TEST_F(AfPacketOnLoopback, EachPacketIsSeenOnceAndInOrder) {
  inside([] {
    Sender sender;
    SourceHarness harness("af_packet", "interfaces = [\"lo\"]");
    EXPECT_EQ(harness.next()->count, 0u) << "the first batch comes at once, and says that time passes";
    Received seen;
    for (const uint32_t packets : {1, 10, 500}) {
      sender.send(packets);
      seen.take(harness, sender.sent);
    }
    EXPECT_TRUE(seen.in_order);
    sender.send(7);
    harness.finish();
    seen.take(harness, 0);
    EXPECT_TRUE(harness.ended());
    EXPECT_EQ(seen.packets, sender.sent);
    EXPECT_TRUE(seen.in_order);
    EXPECT_EQ(seen.dropped, 0u);
    const auto inputs = harness.services().get<RunReport>()->inputs();
    ASSERT_EQ(inputs.size(), 1u);
    EXPECT_EQ(inputs[0].name, "lo");
    EXPECT_EQ(inputs[0].packets, sender.sent);
    EXPECT_EQ(inputs[0].bytes, sender.sent * uint64_t{14 + 20 + 8 + 4});
    EXPECT_EQ(inputs[0].status, InputStatus::ok);
  });
}

// The blocks that batches point into are not the kernel's, however long that takes; what it loses meanwhile is told.
TEST_F(AfPacketOnLoopback, BatchesThatAreHeldCostPacketsAndThatIsSaid) {
  inside([] {
    Sender sender;
    SourceHarness harness("af_packet", "interfaces = [\"lo\"]\nring_bytes = 262144",
                          {.sizes = {.batch_items = 1024}, .credits = 4});
    harness.next();
    sender.send(10000);
    Received seen;
    seen.take(harness, 1);
    sender.send(10000);
    harness.finish();
    seen.take(harness, 0);
    EXPECT_TRUE(harness.ended());
    EXPECT_GT(seen.dropped, 1000u);
    EXPECT_EQ(seen.packets + seen.dropped, sender.sent);
  });
}

TEST_F(AfPacketOnLoopback, OtherRulesAreKnownFurtherOnWithoutPackets) {
  inside([] {
    Sender sender;
    SourceHarness harness("af_packet", "interfaces = [\"lo\"]");
    Received seen;
    seen.take(harness);
    while (harness.next()) {
    }
    const auto rules = harness.services().get<RulesInForce>();
    ASSERT_TRUE(rules->flush().has_value());
    ASSERT_TRUE(seen.take(harness));
    EXPECT_EQ(seen.packets, 0u);
    EXPECT_EQ(seen.rules.size(), 2u);
    EXPECT_TRUE(seen.rules.contains(rules->id()));
  });
}

TEST_F(AfPacketOnLoopback, StopsByItselfAfterAsManyPacketsAsWereAskedFor) {
  inside([] {
    Sender sender;
    SourceHarness harness("af_packet", "interfaces = [\"lo\"]\npackets = 100");
    harness.next();
    sender.send(300);
    Received seen;
    seen.take(harness, 0);
    EXPECT_TRUE(harness.ended());
    EXPECT_EQ(seen.packets, 100u);
  });
}

}  // namespace
}  // namespace trama
