#include "engine/reorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/sanitizers.hpp"
#include "tests/engine/pipeline_setup.hpp"

namespace trama {
namespace {

std::vector<uint64_t> pass_through(ReorderBuffer& buffer, std::vector<Message>& messages,
                                   const std::vector<size_t>& order) {
  std::vector<uint64_t> out;
  for (size_t at : order) buffer.put(&messages[at], [&out](Message* ready) { out.push_back(ready->seq); });
  return out;
}

TEST(Reorder, GivesWhatIsInOrderAtOnce) {
  std::vector<Message> messages(3);
  for (size_t i = 0; i < 3; ++i) messages[i].seq = i;
  ReorderBuffer buffer(1);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(pass_through(buffer, messages, {i}), std::vector<uint64_t>{i});
}

TEST(Reorder, KeepsWhatIsEarlyAndGivesTheWholeRunWhenTheGapCloses) {
  std::vector<Message> messages(4);
  for (size_t i = 0; i < 4; ++i) messages[i].seq = i;
  ReorderBuffer buffer(4);
  EXPECT_TRUE(pass_through(buffer, messages, {3, 1, 2}).empty());
  EXPECT_EQ(pass_through(buffer, messages, {0}), (std::vector<uint64_t>{0, 1, 2, 3}));
}

// Any order that C credits allow: number n may come only when n - C has gone out.
TEST(Reorder, AnyOrderThatCreditsAllowBecomesThatOfTheNumbers) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const size_t credits = 1 + random(9), count = 50;
    std::vector<Message> messages(count);
    for (size_t i = 0; i < count; ++i) messages[i].seq = i;
    ReorderBuffer buffer(credits);
    std::vector<uint64_t> out;
    std::vector<size_t> alive;
    for (size_t next = 0; out.size() < count;) {
      while (next < count && next < out.size() + credits) alive.push_back(next++);
      std::swap(alive[random(alive.size())], alive.back());
      buffer.put(&messages[alive.back()], [&out](Message* ready) { out.push_back(ready->seq); });
      alive.pop_back();
    }
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], i);
  }
}

#if !defined(NDEBUG) && !TRAMA_THREAD_SANITIZER
TEST(ReorderDeathTest, ANumberBeyondTheCreditsIsOurMistake) {
  Message message;
  message.seq = 2;
  ReorderBuffer buffer(2);
  EXPECT_DEATH(buffer.put(&message, [](Message*) {}), "outside the span");
}
#endif

}  // namespace
}  // namespace trama
