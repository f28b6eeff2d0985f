// A publisher that passes on what another one has published: its runs, its numbers, its gaps.
#include <gtest/gtest.h>

#include "libclient/subscriber.hpp"
#include "tests/libclient/stream_feeds.hpp"

namespace trama {
namespace {

using namespace std::chrono_literals;
using test::PublisherThread;
using test::sample_window;

constexpr auto kPassOnWait = 20s;

class PublisherPassesOn : public ::testing::Test {
 protected:
  PublisherPassesOn() {
    StreamConfig config;
    config.queue = 4;
    config.beat_ns = 50'000'000;
    config.patience_ns = 500'000'000;
    config.passes_on = true;
    publisher_ =
        std::make_unique<PublisherThread>(config, parse_stream_url("trama+ipc://" + (folder_ / "s").string()).value());
  }
  void pass_on(uint64_t run, uint64_t seq) {
    bool done = false;
    publisher_->run([&](StreamPublisher& publisher) {
      done = publisher.pass_on(sample_window(seq, 50, EnvelopeEncoding::blob_lz4, run)->envelope);
    });
    EXPECT_TRUE(done);
  }
  Subscriber open(SubscribeOptions options = {}) {
    return std::move(*Subscriber::open(publisher_->url().text(), options));
  }
  void await_subscribers(size_t count) {
    const auto until = std::chrono::steady_clock::now() + kPassOnWait;
    while (publisher_->subscribers() < count && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(1ms);
    ASSERT_EQ(publisher_->subscribers(), count);
  }
  static void expect_window(Subscriber& subscriber, uint64_t run, uint64_t seq, uint64_t missed = 0,
                            bool restarted = false) {
    const Next next = subscriber.next(kPassOnWait);
    ASSERT_EQ(next.outcome, Outcome::window) << next.error.text;
    EXPECT_EQ(next.window->info().run, run);
    EXPECT_EQ(next.window->info().stream, "site");  // as it was, whatever the name of this one
    EXPECT_EQ(next.window->info().seq, seq);
    EXPECT_EQ(next.window->missed, missed) << "before " << seq;
    EXPECT_EQ(next.window->restarted, restarted) << "before " << seq;
  }
  const test::ScratchFolder folder_;
  std::unique_ptr<PublisherThread> publisher_;
};

TEST_F(PublisherPassesOn, OnesThatComeBeforeTheFirstWindowHaveIt) {
  SubscribeOptions seventh;
  seventh.start = StartKind::number;
  seventh.start_at = 7;
  Subscriber live = open(), from_seven = open(seventh);
  await_subscribers(2);
  std::this_thread::sleep_for(700ms);  // longer than a subscriber may be silent
  EXPECT_EQ(publisher_->subscribers(), 2u);
  EXPECT_FALSE(live.connected());
  pass_on(11, 9);
  expect_window(live, 11, 9);
  expect_window(from_seven, 11, 9, 2);
  EXPECT_EQ(publisher_->totals().lost, 0u);
}

TEST_F(PublisherPassesOn, AnotherRunIsARestart) {
  Subscriber subscriber = open();
  await_subscribers(1);
  pass_on(11, 5);
  pass_on(11, 7);
  expect_window(subscriber, 11, 5);
  expect_window(subscriber, 11, 7, 1);
  pass_on(12, 0);
  expect_window(subscriber, 12, 0, 0, true);
  publisher_->run([](StreamPublisher& publisher) { publisher.pass_below(3); });
  pass_on(13, 2);
  expect_window(subscriber, 13, 2, 2 + 2, true);  // 1 and 2 of run 12, 0 and 1 of run 13
  EXPECT_EQ(subscriber.counts().sessions, 1u);
  Subscriber late = open();
  await_subscribers(2);
  pass_on(13, 3);
  expect_window(late, 13, 3);
  expect_window(subscriber, 13, 3);
}

TEST_F(PublisherPassesOn, ASlowOneIsToldWhatItLosesOfTheRunBefore) {
  SubscribeOptions options;
  options.ahead = 2;
  Subscriber slow = open(options);
  await_subscribers(1);
  for (uint64_t seq = 0; seq < 6; ++seq) pass_on(11, seq);
  pass_on(12, 0);
  expect_window(slow, 11, 0);
  expect_window(slow, 11, 1);
  expect_window(slow, 12, 0, 4, true);
  EXPECT_EQ(publisher_->totals().lost, 4u);
}

TEST_F(PublisherPassesOn, NumbersThatHavePassedAreLeftOut) {
  Subscriber subscriber = open();
  await_subscribers(1);
  for (const uint64_t seq : {4, 3, 2, 1, 4, 5}) pass_on(11, seq);
  SubscribeOptions all;
  all.start = StartKind::last;
  all.start_at = 100;
  Subscriber late = open(all);
  for (Subscriber* one : {&subscriber, &late}) {
    expect_window(*one, 11, 4);
    expect_window(*one, 11, 5);
  }
}

TEST_F(PublisherPassesOn, AnEndBeforeTheFirstWindowIsNotWaitedFor) {
  Subscriber subscriber = open();
  await_subscribers(1);
  const auto before = std::chrono::steady_clock::now();
  publisher_->finish(60'000);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 50s);
}

}  // namespace
}  // namespace trama
