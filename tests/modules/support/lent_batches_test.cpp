// Frames that are lent and come back, and how a source sleeps.
#include "modules/support/lent_batches.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <random>

#include "modules/support/idle_wait.hpp"
#include "tests/support/fake_device.hpp"
#include "tests/support/long_tests.hpp"

namespace trama {
namespace {

using test::FakeQueue;

constexpr uint64_t kLentSeed = 20250213;

std::vector<ReceiveQueue*> all(std::vector<FakeQueue>& queues) {
  std::vector<ReceiveQueue*> pointers;
  for (FakeQueue& queue : queues) pointers.push_back(&queue);
  return pointers;
}

TEST(LentBatches, DescribesFramesWhereTheyLie) {
  std::vector<FakeQueue> queues(1);
  const PacketBytes bytes = ethernet_ipv4_packet(1, 2, 100);
  queues[0].arrive(bytes, 42);
  queues[0].arrive(bytes);
  LentBatches lent(all(queues), {.batch_items = 8, .batches = 2, .link_type = 1, .snap_bytes = 60});
  std::vector<Packet> packets(8);
  const auto filled = lent.fill(packets, 7);
  ASSERT_EQ(filled.packets, 2u);
  EXPECT_EQ(filled.bytes, 2 * bytes.size());
  EXPECT_EQ(packets[0].time_ns, 42);  // the device's
  EXPECT_EQ(packets[1].time_ns, 7);
  EXPECT_EQ(packets[0].captured, 60u);
  EXPECT_EQ(packets[0].original, bytes.size());
  EXPECT_EQ(packets[0].link_type, 1u);
  EXPECT_EQ(packets[0].verdict, Verdict::counted);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 60, packets[0].data));
}

TEST(LentBatches, GivesBackWhatNobodyHoldsAnyMoreInAnyOrder) {
  std::vector<FakeQueue> queues(1);
  for (int i = 0; i < 6; ++i) queues[0].arrive(ethernet_ipv4_packet(1, 2));
  LentBatches lent(all(queues), {.batch_items = 2, .batches = 3});
  std::vector<Packet> packets(2);
  std::atomic<uint32_t>* leases[3];
  for (auto& lease : leases) lease = lent.fill(packets, 0).lease;
  EXPECT_EQ(queues[0].lent(), 6u);
  queues[0].arrive(ethernet_ipv4_packet(1, 2));
  EXPECT_EQ(lent.fill(packets, 0).packets, 0u);  // as many batches are out as there may be
  EXPECT_TRUE(lent.starved());
  leases[1]->fetch_sub(1);
  lent.reclaim();
  EXPECT_EQ(queues[0].lent(), 4u);
  EXPECT_FALSE(lent.starved());
  EXPECT_EQ(lent.fill(packets, 0).packets, 1u);
}

TEST(LentBatches, AsksQueuesInTurn) {
  std::vector<FakeQueue> queues(2);
  for (int i = 0; i < 100; ++i) queues[0].arrive(ethernet_ipv4_packet(1, 2));
  queues[1].arrive(ethernet_ipv4_packet(3, 4));
  LentBatches lent(all(queues), {.batch_items = 4, .batches = 8});
  std::vector<Packet> packets(4);
  lent.fill(packets, 0);
  lent.fill(packets, 0);
  EXPECT_EQ(queues[1].waiting(), 0u) << "the busy queue keeps the other one waiting";
  EXPECT_EQ(lent.received()[1].packets, 1u);
}

TEST(LentBatches, EveryFrameIsLentOnceAndComesBackOnce) {
  for (uint64_t run = 0; run < runs(20, 2000); ++run) {
    SCOPED_TRACE("seed " + std::to_string(kLentSeed + run));
    std::mt19937_64 random(kLentSeed + run);
    std::vector<FakeQueue> queues(1 + random() % 4);
    for (FakeQueue& queue : queues) queue.most_lent = 8 + random() % 64;
    uint64_t arrived = 0, received = 0;
    {
      LentBatches lent(all(queues), {.batch_items = 16, .batches = 1 + random() % 5});
      std::vector<std::atomic<uint32_t>*> out;
      std::vector<Packet> packets(16);
      for (int step = 0; step < 300; ++step) {
        for (uint64_t more = random() % 6; more > 0; --more, ++arrived)
          queues[random() % queues.size()].arrive(ethernet_ipv4_packet(1, 2));
        if (!out.empty() && random() % 2 == 0) {
          std::swap(out[random() % out.size()], out.back());
          out.back()->fetch_sub(1);
          out.pop_back();
        }
        lent.reclaim();
        const auto filled = lent.fill(std::span(packets).first(1 + random() % 16), 0);
        if (filled.lease) out.push_back(filled.lease);
        received += filled.packets;
      }
      uint64_t counted = 0;
      for (const ReceivedCount& count : lent.received()) counted += count.packets;
      EXPECT_EQ(counted, received);
    }
    size_t waiting = 0;
    for (const FakeQueue& queue : queues) {
      EXPECT_EQ(queue.lent(), 0u);
      waiting += queue.waiting();
    }
    EXPECT_EQ(received + waiting, arrived);
  }
}

constexpr int64_t kMicro = 1000, kMilli = 1'000'000, kSecond = 1'000'000'000;

TEST(IdleWait, SleepsLongerTheLongerNothingComes) {
  IdleWait wait({}, {.longest_ns = 2 * kMilli});
  int64_t now = kSecond;
  EXPECT_EQ(wait.sleep(now), now + 50 * kMicro);
  EXPECT_EQ(wait.sleep(now + 1), now + 50 * kMicro) << "a second look before it sleeps";
  EXPECT_EQ(wait.sleep(now + 3200 * kMicro), now + 3300 * kMicro);
  EXPECT_EQ(wait.sleep(now + kSecond), now + kSecond + 2 * kMilli);
  wait.busy(1);
  now += 2 * kSecond;
  EXPECT_EQ(wait.sleep(now), now + 50 * kMicro);
  IdleWait never({}, {.longest_ns = 0});
  EXPECT_EQ(never.sleep(kSecond), kSecond + 1);
}

// How often a source wakes up in a second, a second after the link has gone quiet.
size_t wakes_a_second(IdleWait& wait, size_t packets, int64_t every_ns) {
  size_t wakes = 0;
  int64_t next_packets = kSecond;
  for (int64_t now = kSecond; now < 3 * kSecond; now = wait.sleep(now)) {
    wakes += now >= 2 * kSecond;
    if (now < next_packets) continue;
    wait.busy(packets);
    next_packets += every_ns;
  }
  return wakes;
}

TEST(IdleWait, FewPacketsCostNoMoreThanNone) {
  IdleWait quiet({}, {.longest_ns = 2 * kMilli, .few = 64});
  EXPECT_LE(wakes_a_second(quiet, 1, kSecond / 10), 501u);  // 2 ms apart
  IdleWait busier({}, {.longest_ns = 2 * kMilli, .few = 64});
  EXPECT_LE(wakes_a_second(busier, 20, 2 * kMilli), 501u);
  IdleWait bursts({}, {.longest_ns = 2 * kMilli, .few = 64});
  EXPECT_GT(wakes_a_second(bursts, 65, kSecond / 10), 600u);
}

bool readable(int fd, int timeout_ms) {
  pollfd poll_one{fd, POLLIN, 0};
  return poll(&poll_one, 1, timeout_ms) == 1;
}

TEST(IdleWait, EndsByTheClockAndByADescriptor) {
  IdleWait by_clock({}, {.longest_ns = 1000});
  by_clock.sleep(1);
  EXPECT_TRUE(readable(by_clock.fd(), -1));

  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int fds[] = {ends[0]};
  IdleWait by_descriptor(fds, {.longest_ns = 3600 * kSecond});
  EXPECT_FALSE(readable(by_descriptor.fd(), 0));
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_TRUE(readable(by_descriptor.fd(), -1));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace trama
