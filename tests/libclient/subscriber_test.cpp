// What holds for every kind of stream: order, gaps told exactly once, where to begin, runs that follow each other.
#include "libclient/subscriber.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include "tests/libclient/nats_feeds.hpp"
#include "tests/libclient/stream_feeds.hpp"

namespace trama {
namespace {

using namespace std::chrono_literals;
using test::FolderFeed;
using test::PublisherFeed;

constexpr auto kLong = 20s;  // for what must come; a test that passes doesn't wait for it

class AnyStream : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string way = GetParam();
    if (way == "nats") {
      if (!nats_available() || !test::NatsServer::installed()) GTEST_SKIP() << "no NATS here";
      feed_ = std::make_unique<test::NatsFeed>();
      return;
    }
    if (way == "file")
      feed_ = std::make_unique<FolderFeed>(folder_.path());
    else
      feed_ = std::make_unique<PublisherFeed>(way == "ipc" ? "trama+ipc://" + (folder_ / "s").string()
                                                           : "trama+tcp://127.0.0.1:0/site");
  }
  Subscriber subscribe(SubscribeOptions options = {}) {
    auto subscriber = Subscriber::open(feed_->url(), options);
    if (!subscriber) throw std::runtime_error(subscriber.error().text);
    while (!subscriber->connected()) std::this_thread::sleep_for(1ms);  // asking for windows might take one
    return std::move(*subscriber);
  }
  static void expect_window(Subscriber& subscriber, uint64_t seq, uint64_t missed = 0, bool restarted = false) {
    const Next next = subscriber.next(kLong);
    ASSERT_EQ(next.outcome, Outcome::window) << next.error.text;
    EXPECT_EQ(next.window->info().seq, seq);
    EXPECT_EQ(next.window->missed, missed) << "before " << seq;
    EXPECT_EQ(next.window->restarted, restarted) << "before " << seq;
    const auto sample = test::sample_window(seq);
    const auto& column = next.window->matrix().column;
    EXPECT_TRUE(std::equal(column.begin(), column.end(), sample->arrays.column.begin(), sample->arrays.column.end()));
    EXPECT_EQ(next.window->info().sensor, "roof");
    EXPECT_EQ(next.window->info().verdicts, sample->envelope.verdicts);
  }
  static SubscribeOptions from(StartKind start, uint64_t at) {
    SubscribeOptions options;
    options.start = start;
    options.start_at = at;
    return options;
  }

  const test::ScratchFolder folder_;
  std::unique_ptr<test::Feed> feed_;
};

TEST_P(AnyStream, WindowsComeInOrder) {
  Subscriber subscriber = subscribe();
  for (uint64_t seq = 0; seq < 20; ++seq) {
    feed_->publish(seq);
    expect_window(subscriber, seq);
  }
  EXPECT_EQ(subscriber.next(0ms).outcome, Outcome::timeout);
  EXPECT_EQ(subscriber.counts().windows, 20u);
  EXPECT_EQ(subscriber.counts().missed, 0u);
}

TEST_P(AnyStream, LiveBeginsWithTheNextWindow) {
  for (uint64_t seq = 0; seq < 5; ++seq) feed_->publish(seq);
  Subscriber subscriber = subscribe();
  feed_->publish(5);
  expect_window(subscriber, 5);
}

TEST_P(AnyStream, EveryGapIsToldOnce) {
  Subscriber subscriber = subscribe();
  uint64_t seq = 0;
  for (const uint64_t lost : {0, 1, 3, 0, 7}) {
    for (uint64_t i = 0; i < lost; ++i) feed_->lose(seq++);
    feed_->publish(seq);
    expect_window(subscriber, seq++, lost);
  }
  EXPECT_EQ(subscriber.counts().missed, 11u);
}

TEST_P(AnyStream, BeginsWhereItIsWanted) {
  for (uint64_t seq = 0; seq < 8; ++seq) feed_->publish(seq);
  struct Case {
    StartKind start;
    uint64_t at, first;
  };
  const auto time_of = [](uint64_t seq) { return static_cast<uint64_t>(test::sample_window(seq)->envelope.last_ns); };
  for (const Case& one : {Case{StartKind::number, 3, 3}, Case{StartKind::number, 0, 0}, Case{StartKind::last, 2, 6},
                          Case{StartKind::last, 100, 0}, Case{StartKind::time, time_of(5), 5},
                          Case{StartKind::time, time_of(5) + 1, 6}, Case{StartKind::time, 0, 0}}) {
    SCOPED_TRACE(testing::Message() << static_cast<int>(one.start) << " at " << one.at);
    Subscriber subscriber = subscribe(from(one.start, one.at));
    for (uint64_t seq = one.first; seq < 8; ++seq) expect_window(subscriber, seq);
    EXPECT_EQ(subscriber.next(0ms).outcome, Outcome::timeout);
  }
}

TEST_P(AnyStream, ANumberThatIsNotThereYetIsWaitedFor) {
  feed_->publish(0);
  Subscriber subscriber = subscribe(from(StartKind::number, 3));
  for (uint64_t seq = 1; seq < 5; ++seq) feed_->publish(seq);
  expect_window(subscriber, 3);
  expect_window(subscriber, 4);
}

TEST_P(AnyStream, ANumberThatIsGoneIsMissed) {
  for (uint64_t seq = 5; seq < 8; ++seq) feed_->publish(seq);
  Subscriber subscriber = subscribe(from(StartKind::number, 2));
  expect_window(subscriber, 5, 3);
}

TEST_P(AnyStream, AnotherRunBeginsAnew) {
  Subscriber subscriber = subscribe();
  for (uint64_t seq = 0; seq < 3; ++seq) feed_->publish(seq);
  for (uint64_t seq = 0; seq < 3; ++seq) expect_window(subscriber, seq);
  feed_->restart();
  for (uint64_t seq = 0; seq < 2; ++seq) feed_->publish(seq);
  expect_window(subscriber, 0, 0, true);
  expect_window(subscriber, 1);
  feed_->restart();
  feed_->lose(0);
  feed_->publish(1);
  expect_window(subscriber, 1, 1, true);
  feed_->publish(2);
  expect_window(subscriber, 2);
}

TEST_P(AnyStream, TheDescriptorIsReadableWhileThereAreWindows) {
  Subscriber subscriber = subscribe(from(StartKind::last, 100));
  while (subscriber.next(0ms).outcome != Outcome::timeout) continue;
  pollfd event{subscriber.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&event, 1, 0), 0);
  feed_->publish(0);
  feed_->publish(1);
  ASSERT_EQ(poll(&event, 1, 20'000), 1);
  expect_window(subscriber, 0);
  ASSERT_EQ(poll(&event, 1, 20'000), 1);
  expect_window(subscriber, 1);
}

// Taken one by one or not at all for a while: nothing is lost where there is room enough.
TEST_P(AnyStream, ASubscriberThatRestsLosesNothingWhileThereIsRoom) {
  SubscribeOptions options;
  options.ahead = 2;
  Subscriber subscriber = subscribe(options);
  for (uint64_t seq = 0; seq < 12; ++seq) feed_->publish(seq);
  for (uint64_t seq = 0; seq < 12; ++seq) expect_window(subscriber, seq);
}

TEST_P(AnyStream, CanBeLeftAtAnyTime) {
  for (int i = 0; i < 20; ++i) {
    auto subscriber = Subscriber::open(feed_->url());
    ASSERT_TRUE(subscriber);
    feed_->publish(static_cast<uint64_t>(i));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, AnyStream, ::testing::Values("tcp", "ipc", "file", "nats"),
                         [](const auto& way) { return std::string(way.param); });

TEST(Subscriber, RefusesWhatCanNotBe) {
  SubscribeOptions options;
  EXPECT_FALSE(Subscriber::open("nats://host:4222/x.*"));
  EXPECT_FALSE(Subscriber::open("file:///nonexistent/folder"));
  options.ahead = 0;
  EXPECT_FALSE(Subscriber::open("trama+tcp://127.0.0.1:1/x", options));
  options.ahead = 257;
  EXPECT_FALSE(Subscriber::open("trama+tcp://127.0.0.1:1/x", options));
}

}  // namespace
}  // namespace trama
