#include "engine/ring.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "engine/credits.hpp"
#include "tests/engine/pipeline_setup.hpp"

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

// Each producer's items reach the consumers in order, and each item reaches one of them. Numbered credits, as the
// promise says: with counted ones a consumer that is preempted while it takes something out would hold a place for ever
// so long as others run ahead, and a push would fail.
TEST(Ring, ThreadsLoseNothingAndKeepEachProducersOrder) {
  constexpr size_t kProducers = 3, kConsumers = 3, kItems = 20000, kCredits = 16;
  struct Item {
    uint64_t number;
    size_t producer;
    uint64_t index;
  };
  Ring<Item> ring(kCredits, kProducers);
  Credits credits(kCredits);
  std::mutex opening;  // makes of three producers the one stage that takes numbers
  std::atomic<size_t> got{0}, failed{0}, disordered{0};
  std::vector<std::thread> threads;
  for (size_t p = 0; p < kProducers; ++p)
    threads.emplace_back([&, p] {
      for (uint64_t i = 1; i <= kItems;) {
        std::unique_lock lock(opening);
        if (!credits.reserve()) {
          lock.unlock();
          std::this_thread::yield();
          continue;
        }
        const Item item{credits.take(), p, i++};
        lock.unlock();
        while (!ring.push(p, item)) {
          ++failed;
          std::this_thread::yield();
        }
      }
    });
  for (size_t c = 0; c < kConsumers; ++c)
    threads.emplace_back([&] {
      uint64_t last[kProducers] = {};
      while (got.load() < kProducers * kItems) {
        Item item;
        if (!ring.pop(item)) {
          std::this_thread::yield();
          continue;
        }
        ++got;
        disordered += item.index <= last[item.producer];
        last[item.producer] = item.index;
        credits.arrive(item.number);
        credits.leave(item.number);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failed.load(), 0u);
  EXPECT_EQ(disordered.load(), 0u);
  EXPECT_EQ(got.load(), kProducers * kItems);
  EXPECT_EQ(credits.alive(), 0u);
}

}  // namespace
}  // namespace trama
