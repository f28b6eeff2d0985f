// The order of windows over NATS, without a server: what is asked for, what is believed, what is delivered.
#include "libclient/transports/nats_order.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "libclient/transports/nats_subjects.hpp"

namespace trama {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

NatsWindow window(uint64_t number) {
  NatsWindow result;
  result.info.seq = number;
  return result;
}

std::vector<uint64_t> asked(NatsOrder& order, int64_t now) {
  std::vector<uint64_t> numbers;
  while (const auto number = order.ask(now)) numbers.push_back(*number);
  return numbers;
}

std::vector<uint64_t> delivered(NatsOrder& order) {
  std::vector<uint64_t> numbers;
  while (const auto next = order.deliver()) numbers.push_back(next->info.seq);
  return numbers;
}

using Numbers = std::vector<uint64_t>;

TEST(NatsOrder, WhatComesLiveIsNotAskedFor) {
  NatsOrder order(4);
  order.begin(7);
  EXPECT_TRUE(order.keep(7, window(7)));
  EXPECT_TRUE(order.keep(8, window(8)));
  EXPECT_EQ(asked(order, kSecond), Numbers());
  EXPECT_EQ(delivered(order), (Numbers{7, 8}));
  EXPECT_FALSE(order.keep(8, window(8)));  // again
  EXPECT_FALSE(order.keep(3, window(3)));
  EXPECT_EQ(order.next(), 9u);
  EXPECT_TRUE(order.complete());
}

TEST(NatsOrder, WhatDidNotComeIsAskedForAndWaitedFor) {
  NatsOrder order(4);
  order.begin(0);
  order.keep(2, window(2));
  EXPECT_EQ(delivered(order), Numbers());
  EXPECT_EQ(asked(order, kSecond), (Numbers{0, 1}));
  EXPECT_EQ(asked(order, kSecond), Numbers());  // once
  order.keep(1, window(1));
  EXPECT_EQ(delivered(order), Numbers());
  order.keep(0, window(0));
  EXPECT_EQ(delivered(order), (Numbers{0, 1, 2}));
}

TEST(NatsOrder, NeverHoldsMoreThanItMay) {
  NatsOrder order(3);
  order.begin(0);
  EXPECT_TRUE(order.keep(2, window(2)));
  EXPECT_FALSE(order.keep(3, window(3)));  // is asked for later
  EXPECT_EQ(asked(order, kSecond), (Numbers{0, 1}));
  order.keep(0, window(0));
  order.keep(1, window(1));
  EXPECT_EQ(delivered(order), (Numbers{0, 1, 2}));
  EXPECT_EQ(asked(order, kSecond), (Numbers{3}));
}

// A mirror that is behind has not lost anything.
TEST(NatsOrder, AStoreIsBelievedOnlyBehindItsWord) {
  NatsOrder order(4);
  order.begin(0);
  order.published(1);
  EXPECT_EQ(asked(order, kSecond), (Numbers{0}));
  order.absent(0, kSecond);
  EXPECT_TRUE(order.wants_word());
  EXPECT_EQ(delivered(order), Numbers());
  EXPECT_EQ(order.next(), 0u);
  EXPECT_EQ(asked(order, kSecond + 1), Numbers());
  // The word may have come after the question was answered: it is asked once more.
  order.settled(1);
  EXPECT_FALSE(order.wants_word());
  EXPECT_EQ(order.next(), 0u);
  EXPECT_EQ(asked(order, kSecond + 2), (Numbers{0}));
  order.absent(0, kSecond + 3);
  EXPECT_EQ(delivered(order), Numbers());
  EXPECT_EQ(order.next(), 1u);
  EXPECT_TRUE(order.complete());
}

TEST(NatsOrder, WhatIsStoredLateIsFound) {
  NatsOrder order(4);
  order.begin(0);
  order.published(1);
  asked(order, kSecond);
  order.absent(0, kSecond);
  EXPECT_EQ(asked(order, 2 * kSecond), (Numbers{0}));  // after a while
  order.keep(0, window(0));
  EXPECT_EQ(delivered(order), (Numbers{0}));
}

TEST(NatsOrder, AnAnswerThatDoesNotComeIsAskedForAgain) {
  NatsOrder order(4);
  order.begin(0);
  order.published(2);
  EXPECT_EQ(asked(order, kSecond), (Numbers{0, 1}));
  EXPECT_EQ(asked(order, 2 * kSecond), Numbers());
  EXPECT_EQ(asked(order, 4 * kSecond), (Numbers{0, 1}));
  order.ask_again();  // another connection
  EXPECT_EQ(asked(order, 4 * kSecond), (Numbers{0, 1}));
}

TEST(NatsOrder, WithoutAStoreWhatIsMissingIsGone) {
  NatsOrder order(4);
  order.begin(0);
  order.keep(2, window(2));
  order.give_up();
  EXPECT_EQ(delivered(order), (Numbers{2}));
}

TEST(NatsOrder, AnotherRunForgetsTheOneBefore) {
  NatsOrder order(4);
  order.begin(5);
  order.keep(6, window(6));
  order.settled(9);
  order.begin(0);
  EXPECT_TRUE(order.complete());
  order.published(1);
  EXPECT_EQ(asked(order, kSecond), (Numbers{0}));
  order.absent(0, kSecond);
  EXPECT_EQ(delivered(order), Numbers());
  EXPECT_EQ(order.next(), 0u);  // the word was of the other run
}

// Live and stored windows in any order, some lost live, some lost for good, answers late or never: everything that the
// store has comes, in order, once.
TEST(NatsOrder, DeliversExactlyWhatIsThere) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    constexpr uint64_t kWindows = 60;
    std::set<uint64_t> stored;
    for (uint64_t number = 0; number < kWindows; ++number)
      if (random() % 8 != 0) stored.insert(number);
    NatsOrder order(1 + random() % 9);
    order.begin(0);
    Numbers came;
    int64_t now = kSecond;
    uint64_t live = 0;
    for (int step = 0; step < 100'000 && order.next() < kWindows; ++step, now += kSecond / 10) {
      if (live < kWindows && random() % 3 == 0) {
        if (stored.contains(live) && random() % 2 == 0) order.keep(live, window(live));
        order.published(++live);
      }
      if (random() % 10 == 0) order.settled(live);
      for (const uint64_t number : asked(order, now)) {
        if (random() % 10 == 0) continue;
        if (stored.contains(number))
          order.keep(number, window(number));
        else
          order.absent(number, now);
      }
      for (const uint64_t number : delivered(order)) came.push_back(number);
    }
    EXPECT_EQ(came, Numbers(stored.begin(), stored.end())) << "seed " << seed;
  }
}

TEST(NatsSubjects, AreTakenApartAsTheyAreMade) {
  StreamUrl url;
  url.stream = "trama.roof";
  const auto window_place = nats_place(url, nats_window_subject(url, 0xab, 12));
  ASSERT_TRUE(window_place);
  EXPECT_EQ(window_place->run, 0xabu);
  EXPECT_EQ(window_place->number, 12u);
  const auto note_place = nats_place(url, nats_note_subject(url, 0xab));
  ASSERT_TRUE(note_place);
  EXPECT_EQ(note_place->run, 0xabu);
  EXPECT_FALSE(note_place->number);
  for (const char* other :
       {"", "trama.roof", "trama.roof.", "trama.roof..", "trama.roof.00000000000000ab", "trama.roof.00000000000000ab.",
        "trama.roof.00000000000000ab.x", "trama.roof.00000000000000ab.1.2", "trama.roof.ab.1",
        "trama.roofs.notes.00000000000000ab", "trama.roof.00000000000000ab.99999999999999999999"})
    EXPECT_FALSE(nats_place(url, other)) << other;
  EXPECT_EQ(nats_store(url), "trama-roof");
  EXPECT_EQ(nats_api("", "INFO"), "$JS.API.INFO");
  EXPECT_EQ(nats_api("hub", "INFO"), "$JS.hub.API.INFO");
}

// Without a store: what is missing before a window that came is gone, however much it is.
TEST(NatsOrder, WhatCameBehindIsNotHeldUpByWhatIsGone) {
  NatsOrder order(4);
  order.begin(0);
  order.keep(1, window(1));
  order.give_up_below(1);
  EXPECT_EQ(delivered(order), (Numbers{1}));
  order.keep(4, window(4));
  order.give_up_below(1'000'000);
  EXPECT_EQ(delivered(order), (Numbers{4}));
  order.give_up_below(1'000'000);
  EXPECT_EQ(order.next(), 1'000'000u);
  EXPECT_TRUE(order.keep(1'000'000, window(1'000'000)));
  EXPECT_EQ(delivered(order), (Numbers{1'000'000}));
  order.give_up_below(5);  // which has passed
  EXPECT_EQ(order.next(), 1'000'001u);
}

}  // namespace
}  // namespace trama
