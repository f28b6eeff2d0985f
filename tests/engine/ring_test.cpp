#include "engine/ring.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "tests/engine/pipeline.hpp"

namespace trama {
namespace {

// The promise in ring.hpp: 2 * credits places, however the producers share them.
TEST(Ring, TakesTwiceTheCreditsFromAnyMixOfProducers) {
  for (size_t credits : {1u, 2u, 3u, 4u, 5u, 8u, 31u, 32u, 100u, 129u, 500u, 1000u})
    for (size_t producers : {1u, 2u, 3u, 4u, 8u, 16u}) {
      SCOPED_TRACE(testing::Message() << "credits " << credits << ", producers " << producers);
      Random random(credits * 100 + producers);
      Ring<uint64_t> ring(credits, producers);
      size_t inside = 0, failed = 0;
      for (int round = 0; round < 20; ++round) {  // filled and emptied again and again, since blocks wander
        for (; inside < 2 * credits; ++inside) failed += !ring.push(random(producers), inside);
        const size_t leave = random(2 * credits + 1);
        for (uint64_t item; inside > leave; --inside) ASSERT_TRUE(ring.pop(item));
      }
      EXPECT_EQ(failed, 0u);
    }
}

TEST(Ring, OneProducerTakesAllPlacesAloneWhoeverElseThereIs) {
  for (size_t credits : {1u, 8u, 33u, 400u}) {
    Ring<uint64_t> ring(credits, 4);
    for (size_t producer = 0; producer < 4; ++producer) {
      for (uint64_t i = 0; i < 2 * credits; ++i) ASSERT_TRUE(ring.push(producer, i)) << credits;
      for (uint64_t i = 0, item; i < 2 * credits; ++i) {
        ASSERT_TRUE(ring.pop(item));
        EXPECT_EQ(item, i) << "first in, first out for each producer";
      }
    }
  }
}

TEST(Ring, IsBoundedAndSaysSo) {
  Ring<uint64_t> ring(4, 1);
  size_t taken = 0;
  while (taken < 1000 && ring.push(0, taken)) ++taken;
  EXPECT_GE(taken, 8u);
  EXPECT_LT(taken, 1000u);
  uint64_t item;
  while (ring.pop(item)) --taken;
  EXPECT_EQ(taken, 0u);
}

// Each producer's items reach the consumers in order, and each item reaches one of them.
TEST(Ring, ThreadsLoseNothingAndKeepEachProducersOrder) {
  constexpr size_t kProducers = 3, kConsumers = 3, kItems = 20000, kCredits = 16;
  Ring<uint64_t> ring(kCredits, kProducers);
  std::atomic<int> inside{0};
  std::atomic<size_t> got{0}, failed{0}, disordered{0};
  std::vector<std::thread> threads;
  for (size_t p = 0; p < kProducers; ++p)
    threads.emplace_back([&, p] {
      for (uint64_t i = 1; i <= kItems; ++i) {
        while (inside.fetch_add(1) >= static_cast<int>(kCredits)) {
          inside.fetch_sub(1);
          std::this_thread::yield();
        }
        failed += !ring.push(p, p << 32 | i);
      }
    });
  for (size_t c = 0; c < kConsumers; ++c)
    threads.emplace_back([&] {
      uint64_t last[kProducers] = {};
      while (got.load() < kProducers * kItems) {
        uint64_t item;
        if (!ring.pop(item)) {
          std::this_thread::yield();
          continue;
        }
        ++got;
        inside.fetch_sub(1);
        uint64_t& before = last[item >> 32];
        disordered += (item & 0xffffffff) <= before;
        before = item & 0xffffffff;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failed.load(), 0u);
  EXPECT_EQ(disordered.load(), 0u);
  EXPECT_EQ(got.load(), kProducers * kItems);
}

}  // namespace
}  // namespace trama
