// Windows that are closed by time: by the clock of the batches, never by that of the machine.
#include <gtest/gtest.h>

#include "tests/modules/address_batches.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

class StampTimeout : public testing::Test {
 protected:
  static constexpr int64_t kSecond = 1'000'000'000;

  void push(double at_s, const std::vector<test::Seen>& packets, Tally losses = {}) {
    AddressBatch* batch = harness.input();
    ASSERT_NE(batch, nullptr);
    test::fill(*batch, packets);
    batch->tally += losses;
    batch->received_ns = static_cast<int64_t>(at_s * kSecond);
    harness.push(batch);
  }
  void expect_window(const std::vector<test::Pair>& pairs, ClosedBy closed_by) {
    const Window* window = harness.next();
    ASSERT_NE(window, nullptr);
    EXPECT_EQ(test::pairs_of(*window), pairs);
    EXPECT_EQ(window->closed_by, closed_by);
    EXPECT_EQ(window->tally.full_windows, closed_by == ClosedBy::full ? 1u : 0u);
    EXPECT_EQ(window->tally.partial_windows, closed_by == ClosedBy::full ? 0u : 1u);
  }

  StageHarness<AddressBatch, Window> harness{
      "stamp", "window_timeout = 2.5", {.sizes = {.batch_items = 64, .window_items = 4}, .credits = 8}};
};

TEST_F(StampTimeout, ABatchWithoutPacketsIsEnough) {
  push(100, {{Verdict::counted, 1, 2}});
  push(101, {{Verdict::counted, 3, 4}});
  push(102.4, {});
  EXPECT_EQ(harness.next(), nullptr);
  push(102.5, {});
  expect_window({{1, 2}, {3, 4}}, ClosedBy::time);
  push(200, {});
  EXPECT_EQ(harness.next(), nullptr) << "there is nothing to close";
  harness.finish();
  EXPECT_EQ(harness.next(), nullptr);
}

TEST_F(StampTimeout, WhatComesTooLateIsInTheNextWindow) {
  push(100, {{Verdict::counted, 1, 2}});
  push(103, {{Verdict::counted, 3, 4}});
  expect_window({{1, 2}}, ClosedBy::time);
  push(105.4, {});
  EXPECT_EQ(harness.next(), nullptr) << "the time runs from the window's own first packet";
  push(105.5, {});
  expect_window({{3, 4}}, ClosedBy::time);
}

TEST_F(StampTimeout, AFullWindowBeginsTheTimeOfTheNext) {
  push(100, {{Verdict::counted, 1, 1}, {Verdict::counted, 2, 2}});
  push(102, {{Verdict::counted, 3, 3}, {Verdict::counted, 4, 4}, {Verdict::counted, 5, 5}});
  expect_window({{1, 1}, {2, 2}, {3, 3}, {4, 4}}, ClosedBy::full);
  push(104.4, {});
  EXPECT_EQ(harness.next(), nullptr);
  push(104.5, {});
  expect_window({{5, 5}}, ClosedBy::time);
}

TEST_F(StampTimeout, WindowsWithoutPairsWaitForOne) {
  push(100, {{Verdict::not_ip}});
  push(200, {{Verdict::cut}});
  Tally losses;
  losses.dropped_kernel = 3;
  push(300, {{Verdict::counted, 1, 2}}, losses);
  EXPECT_EQ(harness.next(), nullptr);
  push(303, {});
  Window* window = harness.next();
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(window->tally.seen(), 3u);
  EXPECT_EQ(window->tally.dropped_kernel, 3u);
}

TEST_F(StampTimeout, FilesHaveNoSuchTime) {
  push(0, {{Verdict::counted, 1, 2}});
  push(0, {{Verdict::counted, 3, 4}});
  EXPECT_EQ(harness.next(), nullptr);
  harness.finish();
  expect_window({{1, 2}, {3, 4}}, ClosedBy::end);
}

TEST(StampWithoutTimeout, WindowsStayOpen) {
  StageHarness<AddressBatch, Window> harness("stamp");
  for (const int64_t at : {1, 1'000'000'000}) {
    AddressBatch* batch = harness.input();
    test::fill(*batch, {{Verdict::counted, 1, 2}});
    batch->received_ns = at * 1'000'000'000;
    harness.push(batch);
  }
  EXPECT_EQ(harness.next(), nullptr);
}

}  // namespace
}  // namespace trama
