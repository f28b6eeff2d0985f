#include "modules/support/packet_socket_ring.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/modules/support/packet_frames.hpp"
#include "tests/support/long_tests.hpp"

namespace trama {
namespace {

using test::RingFrame;

// What the kernel does with a ring: fills blocks in turn as long as they are its own, and loses packets otherwise.
class KernelSide {
 public:
  KernelSide(size_t block_bytes, size_t blocks)
      : block_bytes_(block_bytes), blocks_(blocks), memory_(new (std::align_val_t(64)) uint8_t[block_bytes * blocks]) {
    for (size_t i = 0; i < blocks; ++i) new (memory_.get() + i * block_bytes) tpacket_block_desc{};
  }
  uint8_t* memory() { return memory_.get(); }

  // Fills the next block with packets of these numbers, as far as they fit; false: it is not the kernel's.
  bool fill(uint32_t first, uint32_t count) {
    uint8_t* const block = memory_.get() + next_ * block_bytes_;
    auto& header = reinterpret_cast<tpacket_block_desc*>(block)->hdr.bh1;
    if (std::atomic_ref(header.block_status).load(std::memory_order_acquire) != TP_STATUS_KERNEL) return false;
    header.num_pkts = count;
    header.offset_to_first_pkt = sizeof(tpacket_block_desc);
    size_t at = header.offset_to_first_pkt;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t number = first + i;
      const RingFrame frame{.bytes = std::vector<uint8_t>(14 + number % 7), .time_ns = number};
      const auto bytes = static_cast<uint32_t>(TPACKET_ALIGN(test::frame_bytes(frame)));
      EXPECT_LE(at + bytes, block_bytes_);
      test::write_frame(block + at, frame, i + 1 < count ? bytes : 0);
      at += bytes;
    }
    std::atomic_ref(header.block_status).store(TP_STATUS_USER, std::memory_order_release);
    next_ = (next_ + 1) % blocks_;
    return true;
  }

 private:
  struct Delete {
    void operator()(uint8_t* memory) const { operator delete[](memory, std::align_val_t(64)); }
  };
  const size_t block_bytes_, blocks_;
  std::unique_ptr<uint8_t[], Delete> memory_;
  size_t next_ = 0;
};

struct Read {
  std::vector<int64_t> numbers;
  std::atomic<uint32_t>* lease = nullptr;
};
Read read(PacketSocketRing& ring, size_t most) {
  std::vector<Packet> packets(most);
  Read read;
  packets.resize(ring.read(packets, read.lease));
  for (const Packet& packet : packets) read.numbers.push_back(packet.time_ns);
  return read;
}
using Numbers = std::vector<int64_t>;

TEST(PacketSocketRing, ABatchNeverSpansTwoBlocks) {
  KernelSide kernel(4096, 4);
  PacketSocketRing ring(kernel.memory(), 4096, 4);
  EXPECT_EQ(ring.ready(), 0u);
  EXPECT_EQ(read(ring, 5).lease, nullptr);
  ASSERT_TRUE(kernel.fill(0, 5));
  ASSERT_TRUE(kernel.fill(5, 2));
  EXPECT_EQ(ring.ready(), 5u);
  const Read first = read(ring, 3), second = read(ring, 3), third = read(ring, 3);
  EXPECT_EQ(first.numbers, (Numbers{0, 1, 2}));
  EXPECT_EQ(second.numbers, (Numbers{3, 4}));
  EXPECT_EQ(third.numbers, (Numbers{5, 6}));
  EXPECT_EQ(first.lease, second.lease);
  EXPECT_NE(second.lease, third.lease);
  EXPECT_EQ(ring.ready(), 0u);
}

TEST(PacketSocketRing, ABlockGoesBackWhenItsLastBatchIsLetGo) {
  KernelSide kernel(4096, 2);
  PacketSocketRing ring(kernel.memory(), 4096, 2);
  ASSERT_TRUE(kernel.fill(0, 4));
  ASSERT_TRUE(kernel.fill(4, 1));
  const Read first = read(ring, 3);
  first.lease->fetch_sub(1);
  ring.give_back();
  EXPECT_FALSE(kernel.fill(5, 1)) << "its last packet has not been read";
  const Read second = read(ring, 3), third = read(ring, 3);
  third.lease->fetch_sub(1);
  ring.give_back();
  EXPECT_EQ(ring.blocks_out(), 2u) << "the kernel wants the older one first";
  EXPECT_FALSE(kernel.fill(5, 1));
  second.lease->fetch_sub(1);
  ring.give_back();
  EXPECT_EQ(ring.blocks_out(), 0u);
  EXPECT_TRUE(kernel.fill(5, 1));
  EXPECT_EQ(read(ring, 9).numbers, (Numbers{5}));
}

TEST(PacketSocketRing, WhatIsStillOutIsNotReadAgain) {
  KernelSide kernel(4096, 2);
  PacketSocketRing ring(kernel.memory(), 4096, 2);
  ASSERT_TRUE(kernel.fill(0, 1) && kernel.fill(1, 1));
  const Read first = read(ring, 9), second = read(ring, 9);
  EXPECT_EQ(ring.ready(), 0u) << "the block that comes next is full, but of packets that were read";
  EXPECT_EQ(read(ring, 9).numbers, Numbers());
}

TEST(PacketSocketRing, ABlockWithoutPacketsIsPassedBy) {
  KernelSide kernel(4096, 3);
  PacketSocketRing ring(kernel.memory(), 4096, 3);
  ASSERT_TRUE(kernel.fill(0, 0) && kernel.fill(0, 0) && kernel.fill(7, 1));
  EXPECT_EQ(ring.ready(), 1u);
  const Read only = read(ring, 9);
  EXPECT_EQ(only.numbers, (Numbers{7}));
  only.lease->fetch_sub(1);
  ring.give_back();
  EXPECT_EQ(ring.blocks_out(), 0u);
}

// Every packet is read once and in order, whatever the sizes, as long as the kernel finds blocks; batches are let go by
// other threads, in another order.
TEST(PacketSocketRing, NothingIsLostOrReadTwice) {
  const uint64_t count = runs(20, 1000);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(static_cast<uint32_t>(seed));
    const size_t blocks = 2 + random() % 6;
    KernelSide kernel(8192, blocks);
    PacketSocketRing ring(kernel.memory(), 8192, blocks);
    std::atomic<std::atomic<uint32_t>*> handed{nullptr};
    std::atomic<bool> over{false};
    std::thread reader([&] {
      while (!over) {
        std::atomic<uint32_t>* const lease = handed.exchange(nullptr);
        lease ? void(lease->fetch_sub(1, std::memory_order_release)) : std::this_thread::yield();
      }
    });
    std::vector<std::atomic<uint32_t>*> kept;
    int64_t wanted = 0, wrong = 0;
    for (uint32_t made = 0; made < 1000 || ring.ready() > 0;) {
      const auto packets = static_cast<uint32_t>(random() % 40);
      if (made < 1000 && random() % 2 == 0 && kernel.fill(made, packets)) made += packets;
      const Read got = read(ring, 1 + random() % 30);
      for (const int64_t number : got.numbers) wrong += number != wanted++;
      if (got.lease) kept.push_back(got.lease);
      if (!kept.empty() && !handed.load()) {
        std::swap(kept[random() % kept.size()], kept.back());
        handed = kept.back();
        kept.pop_back();
      }
      ring.give_back();
      if (made >= 1000 && wanted == made) break;
    }
    over = true;
    reader.join();
    ASSERT_EQ(wrong, 0);
    ASSERT_GE(wanted, 1000);
  }
}

}  // namespace
}  // namespace trama
