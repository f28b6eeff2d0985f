#include "engine/credits.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace trama {
namespace {

// Takes the next number, for which a credit must be there.
uint64_t take(Credits& credits) {
  EXPECT_TRUE(credits.reserve());
  return credits.take();
}

void retire(Credits& credits, uint64_t number) {
  EXPECT_TRUE(credits.arrive(number));
  EXPECT_TRUE(credits.leave(number));
}

TEST(Credits, NumbersStartWithoutHolesUntilAllAreTaken) {
  Credits credits(3);
  for (uint64_t number = 0; number < 3; ++number) {
    EXPECT_TRUE(credits.reserve());
    EXPECT_EQ(credits.take(), number);
  }
  EXPECT_FALSE(credits.reserve());
  EXPECT_EQ(credits.alive(), 3u);
  EXPECT_EQ(credits.taken(), 3u);
}

// The rule that counted credits would break: the oldest number holds up all others, however many have ended.
TEST(Credits, ANumberStartsOnlyWhenTheOneCBeforeItHasRetired) {
  Credits credits(3);
  for (int i = 0; i < 3; ++i) take(credits);
  retire(credits, 1);
  retire(credits, 2);
  EXPECT_FALSE(credits.reserve());
  retire(credits, 0);
  EXPECT_EQ(take(credits), 3u);
  EXPECT_EQ(take(credits), 4u);
  EXPECT_EQ(take(credits), 5u);
  EXPECT_FALSE(credits.reserve());
}

// A credit is no number yet: who waits with one in its hands leaves the numbers to the others, and costs one credit.
TEST(Credits, ACreditThatWaitsHoldsUpNoNumber) {
  Credits credits(3);
  ASSERT_TRUE(credits.reserve());  // kept by a replica without data
  for (uint64_t number = 0; number < 100; number += 2) {
    EXPECT_EQ(take(credits), number);
    EXPECT_EQ(take(credits), number + 1);
    EXPECT_FALSE(credits.reserve()) << "the third is kept";
    retire(credits, number + 1);
    EXPECT_FALSE(credits.reserve()) << "the next number is that of the one before";
    retire(credits, number);
  }
  EXPECT_EQ(credits.take(), 100u);  // and here is its data
  retire(credits, 100);
  EXPECT_EQ(credits.alive(), 0u);
}

TEST(Credits, ASharedNumberRetiresWithItsLastReader) {
  Credits credits(1);
  const uint64_t number = take(credits);
  credits.share(number, 2);
  EXPECT_FALSE(credits.arrive(number));
  EXPECT_FALSE(credits.leave(number));
  EXPECT_FALSE(credits.arrive(number));
  EXPECT_TRUE(credits.arrive(number)) << "the third of three is the last";
  EXPECT_FALSE(credits.leave(number));
  EXPECT_FALSE(credits.reserve());
  EXPECT_TRUE(credits.leave(number));
  EXPECT_TRUE(credits.reserve());
  EXPECT_EQ(credits.alive(), 0u);
}

// Readers in threads of their own end shared numbers in any order; each number has exactly one last reader, and what
// they wrote before they left is seen by whoever takes the slot again.
TEST(Credits, ThreadsEndSharedNumbersExactlyOnce) {
  constexpr size_t kCredits = 4, kReaders = 3;
  constexpr uint64_t kNumbers = 20000;
  Credits credits(kCredits);
  std::vector<uint64_t> written(kCredits * kReaders);  // plain memory: ThreadSanitizer watches the order
  std::atomic<uint64_t> announced{0}, last_arrivals{0}, retired{0};
  std::vector<std::thread> readers;
  for (size_t r = 0; r < kReaders; ++r)
    readers.emplace_back([&, r] {
      for (uint64_t number = 0; number < kNumbers; ++number) {
        while (announced.load() <= number) std::this_thread::yield();
        written[number % kCredits * kReaders + r] = number + 1;
        last_arrivals += credits.arrive(number);
        retired += credits.leave(number);
      }
    });
  for (uint64_t number = 0; number < kNumbers; ++number) {
    while (!credits.reserve()) std::this_thread::yield();
    if (number >= kCredits) {
      for (size_t r = 0; r < kReaders; ++r) ASSERT_EQ(written[number % kCredits * kReaders + r], number + 1 - kCredits);
    }
    ASSERT_EQ(credits.take(), number);
    credits.share(number, kReaders - 1);
    announced.store(number + 1);
  }
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(last_arrivals.load(), kNumbers);
  EXPECT_EQ(retired.load(), kNumbers);
  EXPECT_EQ(credits.alive(), 0u);
}

// Replicas take numbers side by side, now and then with a credit kept for a while: no number is missing or given twice,
// none starts before the one C before it has retired, and what was written before that is seen.
TEST(Credits, ReplicasTakeEachNumberOnce) {
  constexpr size_t kCredits = 5, kReplicas = 4;
  constexpr uint64_t kNumbers = 40000;
  Credits credits(kCredits);
  std::vector<uint64_t> written(kCredits);  // plain memory: ThreadSanitizer watches the order
  std::vector<std::atomic<int>> times(kNumbers + kReplicas);
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> replicas;
  for (uint32_t r = 0; r < kReplicas; ++r)
    replicas.emplace_back([&, r] {
      std::minstd_rand random(r + 1);
      for (;;) {
        while (!credits.reserve()) std::this_thread::yield();
        if (random() % 8 == 0) std::this_thread::yield();
        const uint64_t number = credits.take();
        ++times[number];
        wrong += number >= kCredits && written[number % kCredits] != number + 1 - kCredits;
        written[number % kCredits] = number + 1;
        credits.arrive(number);
        credits.leave(number);
        if (number >= kNumbers - kReplicas) return;  // each of the last numbers ends a replica
      }
    });
  for (auto& replica : replicas) replica.join();
  EXPECT_EQ(wrong.load(), 0u);
  for (uint64_t number = 0; number < kNumbers; ++number) ASSERT_EQ(times[number].load(), 1) << number;
  EXPECT_EQ(credits.taken(), kNumbers);
}

}  // namespace
}  // namespace trama
