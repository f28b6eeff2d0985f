#include "engine/pool.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/engine/pipeline.hpp"

namespace trama {
namespace {

struct Owned : Message {
  static constexpr const char* kName = "Owned";
  explicit Owned(const Sizes& sizes) : items_most(sizes.batch_items) {}
  size_t items_most;
  std::atomic<bool> taken{false};
  uint64_t written = 0;  // plain memory: ThreadSanitizer watches that it is handed over properly
};

TEST(Pool, MakesItsBuffersForTheSizesOfTheGraph) {
  Pool<Owned> pool(2, {.batch_items = 7, .window_items = 9});
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_EQ(static_cast<Owned*>(pool.take())->items_most, 7u);
}

TEST(Pool, GivesEachBufferOnceAndThenNull) {
  Pool<Owned> pool(5, {});
  std::set<Message*> out;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(out.insert(pool.take()).second);
  EXPECT_EQ(out.count(nullptr), 0u);
  EXPECT_EQ(pool.take(), nullptr);
  for (Message* buffer : out) pool.give_back(buffer);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(out.count(pool.take()), 1u);
  EXPECT_EQ(pool.take(), nullptr);
}

TEST(Pool, LastInFirstOut) {
  Pool<Owned> pool(3, {});
  Message* const a = pool.take();
  Message* const b = pool.take();
  pool.give_back(a);
  pool.give_back(b);
  EXPECT_EQ(pool.take(), b);
  EXPECT_EQ(pool.take(), a);
}

TEST(Pool, ABufferComesBackClean) {
  Pool<Owned> pool(1, {});
  Message* const buffer = pool.take();
  buffer->skip = true;
  buffer->items = 9;
  pool.give_back(buffer);
  EXPECT_EQ(pool.take(), buffer);
  EXPECT_FALSE(buffer->skip);
  EXPECT_EQ(buffer->items, 0u);
}

// Few buffers and many changes of the head: the case in which a free list without counted changes hands one out twice.
TEST(Pool, ThreadsNeverShareABuffer) {
  constexpr int kThreads = 4, kRounds = 20000;
  Pool<Owned> pool(3, {});
  std::atomic<int> doubled{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Random random(static_cast<uint64_t>(t) + 1);
      for (int i = 0; i < kRounds; ++i) {
        Owned* mine[2] = {static_cast<Owned*>(pool.take()), random(2) ? static_cast<Owned*>(pool.take()) : nullptr};
        for (Owned* buffer : mine) {
          if (!buffer) continue;
          doubled += buffer->taken.exchange(true, std::memory_order_relaxed);
          ++buffer->written;
        }
        const size_t first = random(2);
        for (Owned* buffer : {mine[first], mine[1 - first]}) {
          if (!buffer) continue;
          buffer->taken.store(false, std::memory_order_relaxed);
          pool.give_back(buffer);
        }
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(doubled.load(), 0);
  std::set<Message*> all;
  while (Message* buffer = pool.take()) EXPECT_TRUE(all.insert(buffer).second);
  EXPECT_EQ(all.size(), 3u);
}

}  // namespace
}  // namespace trama
