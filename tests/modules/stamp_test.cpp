#include <random>

#include "tests/modules/address_batches.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using test::Pair;
using test::Seen;

// What a window should be, worked out packet by packet.
struct Expected {
  std::vector<Pair> pairs;
  Tally tally;
  int64_t first_ns = 0, last_ns = 0;
  ClosedBy closed_by = ClosedBy::full;
};

class Stamp : public ::testing::Test {
 protected:
  static HarnessOptions options(size_t window_items) {
    return {.sizes = {.batch_items = 64, .window_items = window_items}};
  }
};

TEST_F(Stamp, ABoundaryInsideABatchSplitsTheVerdictsAtTheRightPacket) {
  StageHarness<AddressBatch, Window> harness("stamp", "", options(2));
  AddressBatch* batch = harness.input();
  test::fill(*batch, {{Verdict::cut},
                      {Verdict::counted, 1, 2, 50},
                      {Verdict::ipv6},
                      {Verdict::counted, 3, 4, 40},
                      {Verdict::not_ip},
                      {Verdict::counted, 5, 6, 60}});
  harness.push(batch);
  Window* first = harness.next();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(test::pairs_of(*first), (std::vector<Pair>{{1, 2}, {3, 4}}));
  EXPECT_EQ(first->tally.seen(), 4u);
  EXPECT_EQ(first->tally[Verdict::cut] + first->tally[Verdict::ipv6], 2u);
  EXPECT_EQ(first->tally[Verdict::not_ip], 0u);  // it came after the last pair
  EXPECT_EQ(first->first_ns, 40);                // time ran back
  EXPECT_EQ(first->last_ns, 50);
  EXPECT_EQ(first->closed_by, ClosedBy::full);
  EXPECT_EQ(first->tally.full_windows, 1u);
  EXPECT_EQ(harness.next(), nullptr);
  harness.finish();
  Window* last = harness.next();
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->seq, 1u);
  EXPECT_EQ(test::pairs_of(*last), (std::vector<Pair>{{5, 6}}));
  EXPECT_EQ(last->tally[Verdict::not_ip], 1u);
  EXPECT_EQ(last->closed_by, ClosedBy::end);
  EXPECT_EQ(last->tally.partial_windows, 1u);
}

TEST_F(Stamp, WhatComesAfterTheLastPairIsTheTail) {
  StageHarness<AddressBatch, Window> harness("stamp", "", options(1));
  AddressBatch* batch = harness.input();
  test::fill(*batch, {{Verdict::counted, 1, 2}, {Verdict::cut}, {Verdict::cut}});
  harness.push(batch);
  EXPECT_EQ(harness.next()->tally.seen(), 1u);
  harness.finish();
  Window* tail = harness.next();
  ASSERT_NE(tail, nullptr);
  EXPECT_TRUE(tail->skip);
  EXPECT_EQ(tail->pairs, 0u);
  EXPECT_EQ(tail->tally[Verdict::cut], 2u);
  EXPECT_EQ(tail->tally.full_windows + tail->tally.partial_windows, 0u);
  EXPECT_EQ(harness.next(), nullptr);
}

TEST_F(Stamp, NothingSeenMeansNoWindowAndNoTail) {
  StageHarness<AddressBatch, Window> harness("stamp", "", options(4));
  AddressBatch* batch = harness.input();
  test::fill(*batch, {});
  harness.push(batch);
  harness.finish();
  EXPECT_EQ(harness.next(), nullptr);
  EXPECT_TRUE(harness.ended());
}

TEST_F(Stamp, OtherRulesCloseTheWindow) {
  StageHarness<AddressBatch, Window> harness("stamp", "", options(100));
  auto rules = harness.services().get<RulesInForce>();
  rules->add_judge();
  std::vector<uint32_t> ids;
  const auto enters = [&](const std::vector<Seen>& packets, uint32_t judges = 1) {
    AddressBatch* batch = harness.input();
    test::fill(*batch, packets);
    batch->rules = rules->current();
    batch->judges = judges;
    if (ids.empty() || ids.back() != batch->rules.id()) ids.push_back(batch->rules.id());
    harness.push(batch);
  };
  const std::vector<Seen> two = {{Verdict::counted, 1, 9}, {Verdict::excluded_range}};
  enters(two);
  enters(two);
  ASSERT_TRUE(rules->set_ranges(std::make_shared<PrivacyRanges>(*PrivacyRanges::parse({{"10.0.0.0/8", {}}}))));
  enters(two);
  ASSERT_TRUE(rules->change([](Rules& all) { all.key = std::make_shared<AnonymizationKey>(); }));
  enters(two, 0);  // it went around the stage that excludes
  ASSERT_TRUE(rules->flush());
  enters({});
  enters({{Verdict::excluded_range}});
  harness.finish();

  const std::tuple<size_t, ClosedBy, bool> wanted[] = {
      {2, ClosedBy::exclusions, true}, {1, ClosedBy::key, true}, {1, ClosedBy::flush, false}};
  for (size_t i = 0; i < std::size(wanted); ++i) {
    const Window* window = harness.next();
    ASSERT_NE(window, nullptr);
    EXPECT_EQ(std::tuple(window->pairs, window->closed_by, window->judged), wanted[i]);
    EXPECT_EQ(window->rules.id(), ids[i]);
    EXPECT_EQ(window->tally.partial_windows, 1u);
  }
  const Window* tail = harness.next();
  ASSERT_NE(tail, nullptr);
  EXPECT_TRUE(tail->skip);
  EXPECT_EQ(tail->tally.seen(), 1u);
}

TEST_F(Stamp, LossesBeforeABatchGoToTheWindowBeingFilled) {
  StageHarness<AddressBatch, Window> harness("stamp", "", options(1));
  AddressBatch* batch = harness.input();
  test::fill(*batch, {{Verdict::counted, 1, 2}});
  batch->tally.dropped_kernel = 5;
  harness.push(batch);
  EXPECT_EQ(harness.next()->tally.dropped_kernel, 5u);
  harness.finish();
  EXPECT_EQ(harness.next(), nullptr);
}

// The whole stream against a plain computation, for any cut into batches, any window size and any credits.
TEST_F(Stamp, WindowsAreThoseOfThePacketsWhateverTheBatches) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const size_t window_items = 1 + random() % 90;
    std::vector<Seen> packets(random() % 600);
    for (Seen& packet : packets)
      packet = {static_cast<Verdict>(random() % 3 == 0 ? random() % kVerdicts : 0), static_cast<uint32_t>(random()),
                static_cast<uint32_t>(random()), static_cast<int64_t>(random())};

    std::vector<Expected> right;
    Expected open;
    for (const Seen& packet : packets) {
      ++open.tally[packet.verdict];
      if (packet.verdict != Verdict::counted) continue;
      open.first_ns = open.pairs.empty() ? packet.time_ns : std::min(open.first_ns, packet.time_ns);
      open.last_ns = open.pairs.empty() ? packet.time_ns : std::max(open.last_ns, packet.time_ns);
      open.pairs.emplace_back(packet.source, packet.destination);
      if (open.pairs.size() == window_items) right.push_back(std::exchange(open, {}));
    }
    open.closed_by = ClosedBy::end;
    if (open.tally.seen() > 0) right.push_back(open);

    StageHarness<AddressBatch, Window> harness(
        "stamp", "", {.sizes = {.batch_items = 64, .window_items = window_items}, .credits = 1 + random() % 8});
    std::vector<Expected> got;
    const auto take = [&] {
      while (Window* window = harness.next()) {
        EXPECT_EQ(window->seq, got.size());
        Tally tally = window->tally;
        tally.full_windows = tally.partial_windows = 0;
        const bool tail = window->pairs == 0;
        EXPECT_EQ(window->skip, tail);
        got.push_back({test::pairs_of(*window), tally, tail ? 0 : window->first_ns, tail ? 0 : window->last_ns,
                       window->closed_by});
      }
    };
    for (size_t at = 0; at < packets.size();) {
      const size_t count = std::min<size_t>(random() % 65, packets.size() - at);
      AddressBatch* batch = harness.input();
      ASSERT_NE(batch, nullptr);
      test::fill(*batch, {packets.begin() + static_cast<long>(at), packets.begin() + static_cast<long>(at + count)});
      harness.push(batch);
      at += count;
      take();
    }
    harness.finish();
    take();
    EXPECT_TRUE(harness.ended());
    ASSERT_EQ(got.size(), right.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].pairs, right[i].pairs);
      EXPECT_EQ(got[i].tally, right[i].tally);
      EXPECT_EQ(got[i].first_ns, right[i].first_ns);
      EXPECT_EQ(got[i].last_ns, right[i].last_ns);
      EXPECT_EQ(got[i].closed_by, right[i].closed_by);
    }
  }
}

}  // namespace
}  // namespace trama
