#include "engine/credits.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace trama {
namespace {

void retire(Credits& credits, uint64_t number) {
  EXPECT_TRUE(credits.arrive(number));
  EXPECT_TRUE(credits.leave(number));
}

TEST(Credits, NumbersStartWithoutHolesUntilAllAreTaken) {
  Credits credits(3);
  for (uint64_t number = 0; number < 3; ++number) {
    EXPECT_TRUE(credits.available());
    EXPECT_EQ(credits.take(), number);
  }
  EXPECT_FALSE(credits.available());
  EXPECT_EQ(credits.alive(), 3u);
  EXPECT_EQ(credits.taken(), 3u);
}

// The rule that counted credits would break: the oldest number holds up all others, however many have ended.
TEST(Credits, ANumberStartsOnlyWhenTheOneCBeforeItHasRetired) {
  Credits credits(3);
  for (int i = 0; i < 3; ++i) credits.take();
  retire(credits, 1);
  retire(credits, 2);
  EXPECT_FALSE(credits.available());
  retire(credits, 0);
  EXPECT_TRUE(credits.available());
  EXPECT_EQ(credits.take(), 3u);
  EXPECT_EQ(credits.take(), 4u);
  EXPECT_EQ(credits.take(), 5u);
  EXPECT_FALSE(credits.available());
}

TEST(Credits, ASharedNumberRetiresWithItsLastReader) {
  Credits credits(1);
  const uint64_t number = credits.take();
  credits.share(number, 2);
  EXPECT_FALSE(credits.arrive(number));
  EXPECT_FALSE(credits.leave(number));
  EXPECT_FALSE(credits.arrive(number));
  EXPECT_TRUE(credits.arrive(number)) << "the third of three is the last";
  EXPECT_FALSE(credits.leave(number));
  EXPECT_FALSE(credits.available());
  EXPECT_TRUE(credits.leave(number));
  EXPECT_TRUE(credits.available());
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
    while (!credits.available()) std::this_thread::yield();
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

}  // namespace
}  // namespace trama
