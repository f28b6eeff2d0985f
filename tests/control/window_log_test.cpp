#include "modules/support/window_log.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace trama {
namespace {

std::vector<uint64_t> numbers(const std::vector<FinishedWindow>& windows) {
  std::vector<uint64_t> numbers;
  for (const FinishedWindow& window : windows) numbers.push_back(window.seq);
  return numbers;
}

TEST(WindowLog, HasTheLastFinishedOnes) {
  WindowLog log;
  EXPECT_TRUE(log.last(64).empty());
  log.finished(0, 100, false, 1);
  log.finished(2, 50, true, 2);  // 1 is still under way
  EXPECT_EQ(numbers(log.last(64)), (std::vector<uint64_t>{0, 2}));
  log.finished(1, 70, false, 3);
  EXPECT_EQ(numbers(log.last(64)), (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(numbers(log.last(2)), (std::vector<uint64_t>{1, 2}));
  EXPECT_TRUE(log.last(0).empty());
  const FinishedWindow partial = log.last(1).at(0);
  EXPECT_EQ(partial.packets, 50U);
  EXPECT_TRUE(partial.partial);
  EXPECT_EQ(partial.finished_ns, 2);
  EXPECT_FALSE(partial.description);
}

TEST(WindowLog, KeepsSixtyFour) {
  WindowLog log;
  for (uint64_t seq = 0; seq < 5000; ++seq) log.finished(seq, seq, false, 1);
  const auto windows = log.last(1000);
  ASSERT_EQ(windows.size(), 64U);
  EXPECT_EQ(windows.front().seq, 5000U - 64);
  EXPECT_EQ(windows.back().packets, 4999U);
}

TEST(WindowLog, DescriptionsBelongToTheirWindow) {
  WindowLog log;
  for (uint64_t seq = 0; seq < 2000; ++seq) {
    if (seq % 3 == 0) log.describe(seq, {ClosedBy::time, 1, 2, seq, seq + 1});
    log.finished(seq, 100, false, 1);
    const FinishedWindow window = log.last(1).at(0);
    ASSERT_EQ(window.description.has_value(), seq % 3 == 0) << seq;
    if (!window.description) continue;
    EXPECT_EQ(window.description->links, seq);
    EXPECT_EQ(window.description->sources, seq + 1);
    EXPECT_EQ(window.description->closed_by, ClosedBy::time);
  }
  log.describe(2000, {});
  EXPECT_EQ(log.last(1).at(0).seq, 1999U) << "described, but not finished";
}

TEST(WindowLog, QuantitiesBelongToTheirWindow) {
  WindowLog log;
  for (uint64_t seq = 0; seq < 2000; ++seq) {
    if (seq % 3 == 0) log.measured(seq, {.n_packets = seq, .max_fan_in = seq + 1});
    if (seq % 2 == 0) log.describe(seq, {ClosedBy::time, 1, 2, seq, seq});
    log.finished(seq, 100, false, 1);
    const FinishedWindow window = log.last(1).at(0);
    ASSERT_EQ(window.quantities.has_value(), seq % 3 == 0) << seq;
    if (!window.quantities) continue;
    EXPECT_EQ(*window.quantities, (Quantities{.n_packets = seq, .max_fan_in = seq + 1}));
  }
}

TEST(WindowLog, ReadersNeverSeeHalfAWindow) {
  WindowLog log;
  std::atomic<bool> over{false};
  std::atomic<uint64_t> next{0};
  const auto write = [&] {
    for (uint64_t seq; (seq = next++) < 200'000;) {
      if (seq % 2 == 0) log.describe(seq, {ClosedBy::full, 0, static_cast<int64_t>(seq), seq, seq});
      if (seq % 3 == 0) log.measured(seq, {.n_packets = seq, .max_fan_in = seq});
      log.finished(seq, seq, false, static_cast<int64_t>(seq) + 1);
    }
  };
  std::thread first(write), second(write);
  std::thread reader([&] {
    do {
      for (const FinishedWindow& window : log.last(64)) {
        ASSERT_EQ(window.packets, window.seq);
        ASSERT_EQ(window.finished_ns, static_cast<int64_t>(window.seq) + 1);
        ASSERT_EQ(window.description.has_value(), window.seq % 2 == 0);
        ASSERT_EQ(window.quantities.has_value(), window.seq % 3 == 0);
        if (window.quantities) {
          ASSERT_EQ(window.quantities->n_packets, window.seq);
          ASSERT_EQ(window.quantities->max_fan_in, window.seq);
        }
        if (!window.description) continue;
        ASSERT_EQ(window.description->links, window.seq);
        ASSERT_EQ(window.description->last_ns, static_cast<int64_t>(window.seq));
        ASSERT_EQ(window.description->sources, window.seq);
      }
    } while (!over);
  });
  first.join();
  second.join();
  over = true;
  reader.join();
}

}  // namespace
}  // namespace trama
