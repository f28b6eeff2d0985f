#include "libclient/stream_queue.hpp"

#include <gtest/gtest.h>
#include <poll.h>

namespace trama {
namespace {

using Kind = StreamItem::Kind;
constexpr auto kNow = std::chrono::steady_clock::time_point();

StreamItem item(Kind kind, uint64_t run, uint64_t number = 0) {
  StreamItem made;
  made.kind = kind;
  made.run = run;
  made.number = number;
  return made;
}

// A publisher that is started again and again, while nobody takes what comes.
TEST(StreamQueue, KnowsTheRunOfAWindowHoweverManyThereWere) {
  constexpr size_t kAhead = 2, kRuns = 1000;
  StreamQueue queue(kAhead);
  queue.put_dropping(item(Kind::begin, 1));
  queue.put_dropping(item(Kind::window, 1));
  for (uint64_t run = 2; run <= kRuns; ++run) {
    queue.put_dropping(item(Kind::begin, run));
    queue.put_dropping(item(Kind::pass, run, 5));
  }
  queue.put_dropping(item(Kind::window, kRuns, 5));
  size_t items = 0;
  uint64_t run = 0;
  std::vector<uint64_t> runs_of_windows;
  while (const auto next = queue.take(kNow)) {
    ++items;
    if (next->kind == Kind::begin) run = next->run;
    if (next->kind != Kind::window) continue;
    EXPECT_EQ(next->run, run);
    runs_of_windows.push_back(run);
  }
  EXPECT_EQ(runs_of_windows, (std::vector<uint64_t>{1, kRuns}));
  EXPECT_LE(items, 4 * kAhead + 64 + kAhead);
}

// Whoever fills it is woken when it is half empty, not for each window.
TEST(StreamQueue, TellsOfRoomByHalves) {
  StreamQueue queue(4);
  const auto has_room = [&] {
    pollfd event{queue.room_descriptor(), POLLIN, 0};
    return poll(&event, 1, 0) == 1;
  };
  for (uint64_t number = 0; number < 4; ++number) queue.put_dropping(item(Kind::window, 1, number));
  EXPECT_TRUE(queue.take(kNow));
  EXPECT_FALSE(has_room());
  EXPECT_TRUE(queue.take(kNow));
  EXPECT_TRUE(has_room());
  queue.clear_room();
  EXPECT_TRUE(queue.take(kNow));
  EXPECT_TRUE(has_room());
  queue.clear_room();
  queue.close();
  EXPECT_TRUE(has_room());
}

}  // namespace
}  // namespace trama
