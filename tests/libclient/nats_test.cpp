// What holds for streams over NATS alone, with a server: what it stores, and what is lost.
#include <gmock/gmock.h>

#include "tests/libclient/nats_fixture.hpp"

namespace trama {
namespace {

using namespace std::chrono_literals;
using test::Nats;
using test::NatsPublisherThread;
using test::NatsServer;
using test::sample_window;
using testing::HasSubstr;

TEST_F(Nats, ARunThatIsOverIsStoredWithItsEnd) {
  const NatsServer server;
  NatsPublisherThread publisher(config(server));
  publish(publisher, 0, 3);
  publisher.run([](NatsPublisher& p) { p.pass(3), p.pass(4); });
  const auto account = publisher.finish();
  ASSERT_TRUE(account);
  EXPECT_EQ(account->severity, Severity::note);
  EXPECT_THAT(account->text, HasSubstr("3 windows stored"));
  Subscriber subscriber = subscribe(server, StartKind::number, 0);
  for (uint64_t seq = 0; seq < 3; ++seq) expect_window(subscriber, seq);
  const Next end = subscriber.next(kPatience);
  EXPECT_EQ(end.outcome, Outcome::ended);
  EXPECT_EQ(end.missed, 2u);
}

TEST_F(Nats, TheNextRunIsFollowedPastTheEnd) {
  const NatsServer server;
  SubscribeOptions options;
  options.past_end = true;
  auto publisher = std::make_unique<NatsPublisherThread>(config(server));
  publish(*publisher, 0, 2);
  Subscriber subscriber = subscribe(server, StartKind::number, 0, options);
  publisher->finish();
  publisher = std::make_unique<NatsPublisherThread>(config(server));
  publish(*publisher, 0, 2);
  expect_window(subscriber, 0);
  expect_window(subscriber, 1);
  const Next first = subscriber.next(kPatience);
  ASSERT_TRUE(first.window);
  EXPECT_TRUE(first.window->restarted);
  EXPECT_EQ(first.window->info().seq, 0u);
  expect_window(subscriber, 1);
}

// Whoever was there first gets the run from its first window on, also while windows still wait for the store.
TEST_F(Nats, WhoIsThereBeforeTheRunMissesNothing) {
  const NatsServer server;
  Subscriber subscriber = subscribe_early(server);
  NatsPublisherThread publisher(config(server));
  publish_at_once(publisher, 0, 6);
  for (uint64_t seq = 0; seq < 6; ++seq) expect_window(subscriber, seq);
}

// That there was no store before the publisher came says nothing.
TEST_F(Nats, WhatASlowSubscriberHasNoRoomForComesFromTheNewStore) {
  const NatsServer server;
  SubscribeOptions options;
  options.ahead = 2;
  Subscriber subscriber = subscribe_early(server, options);
  NatsPublisherThread publisher(config(server));
  publish(publisher, 0, 30);
  for (uint64_t seq = 0; seq < 30; ++seq) expect_window(subscriber, seq);
}

// What a server that was killed had acknowledged is there; what waited comes later; subscribers notice nothing.
TEST_F(Nats, AServerThatIsKilledLosesNothing) {
  NatsServer server;
  NatsPublisherThread publisher(config(server, 64));
  Subscriber subscriber = subscribe(server, StartKind::live, 0);
  uint64_t seq = 0, taken = 0;
  for (int round = 0; round < 3; ++round) {
    publish(publisher, seq, seq + 5);
    seq += 5;
    server.kill();
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(publisher.publish(sample_window(seq++)->envelope));
    server.start();
    await([&] { return publisher.waiting() == 0; });
    while (taken < seq) expect_window(subscriber, taken++);
  }
  EXPECT_EQ(publisher.totals().stored, seq);
  EXPECT_EQ(subscriber.counts().missed, 0u);
  EXPECT_GE(subscriber.counts().sessions, 2u);
}

TEST_F(Nats, WhatTheQueueGivesUpIsToldExactly) {
  NatsServer server;
  NatsPublisherThread publisher(config(server, 3));
  publish(publisher, 0, 2);
  Subscriber subscriber = subscribe(server, StartKind::number, 0);
  server.kill();
  await_said(publisher, "no connection");  // what went out before might have come, or not
  for (uint64_t seq = 2; seq < 12; ++seq) EXPECT_TRUE(publisher.publish(sample_window(seq)->envelope));
  server.start();
  await([&] { return publisher.waiting() == 0; });
  expect_window(subscriber, 0);
  expect_window(subscriber, 1);
  expect_window(subscriber, 9, 7);
  expect_window(subscriber, 10);
  expect_window(subscriber, 11);
  const auto account = publisher.finish();
  ASSERT_TRUE(account);
  EXPECT_EQ(account->severity, Severity::warning);
  EXPECT_THAT(account->text, HasSubstr("5 windows stored; of 7 it is not known"));
  EXPECT_THAT(account->hint, HasSubstr("queue"));
}

// More numbers in a row than the store is asked for one by one.
TEST_F(Nats, ALongGapIsPassedOver) {
  const NatsServer server;
  NatsPublisherThread publisher(config(server));
  publish(publisher, 0, 1);
  constexpr uint64_t kFar = 1'000'000;
  publish(publisher, kFar, kFar + 2);
  Subscriber subscriber = subscribe(server, StartKind::number, 0);
  expect_window(subscriber, 0);
  expect_window(subscriber, kFar, kFar - 1);
  expect_window(subscriber, kFar + 1);
}

TEST_F(Nats, WhatTheStoreHasThrownAwayIsMissed) {
  const NatsServer server;
  NatsConfig small = config(server);
  small.store.bytes = 24 << 10;
  NatsPublisherThread publisher(small);
  publish(publisher, 0, 200);
  Subscriber all = subscribe(server, StartKind::last, 100'000);
  const Next first = all.next(kPatience);
  ASSERT_TRUE(first.window);
  const uint64_t kept = first.window->info().seq;
  EXPECT_GT(kept, 100u);
  EXPECT_EQ(first.window->missed, 0u);
  Subscriber gone = subscribe(server, StartKind::number, 5);
  expect_window(gone, kept, kept - 5);
}

// Notes are among what the oldest of is thrown away: the next one that comes live stands for it.
TEST_F(Nats, AStoreWithoutANoteIsBegunInAllTheSame) {
  const NatsServer server;
  NatsConfig small = config(server);
  small.store.bytes = 24 << 10;
  small.beat_ns = 2'000'000'000;
  NatsPublisherThread publisher(small);
  publish(publisher, 0, 200);
  SubscribeOptions options;
  options.start = StartKind::last;
  options.start_at = 100'000;
  auto all = Subscriber::open(server.url(), options);
  ASSERT_TRUE(all);
  const Next first = all->next(kPatience);
  ASSERT_TRUE(first.window) << first.error.text;
  EXPECT_LT(first.window->info().seq, 199u);
  EXPECT_EQ(first.window->missed, 0u);
  for (uint64_t seq = first.window->info().seq + 1; seq < 200; ++seq) expect_window(*all, seq);
}

TEST_F(Nats, ASlowSubscriberThatWaitsGetsEverything) {
  const NatsServer server;
  NatsPublisherThread publisher(config(server));
  SubscribeOptions options;
  options.ahead = 2;
  Subscriber slow = subscribe(server, StartKind::live, 0, options);
  publish(publisher, 0, 300);
  for (uint64_t seq = 0; seq < 300; ++seq) expect_window(slow, seq);
}

TEST_F(Nats, ASubscriberThatDropsHasTheNewest) {
  const NatsServer server;
  NatsPublisherThread publisher(config(server));
  SubscribeOptions options;
  options.ahead = 3;
  options.overflow = Overflow::drop;
  Subscriber slow = subscribe(server, StartKind::live, 0, options);
  publish(publisher, 0, 30);
  publisher.finish();
  uint64_t taken = 0, missed = 0, last = 0;
  for (Next next = slow.next(kPatience);; next = slow.next(kPatience)) {
    missed += next.window ? next.window->missed : next.missed;
    if (!next.window) break;
    ++taken;
    last = next.window->info().seq;
  }
  EXPECT_EQ(taken + missed, 30u);
  EXPECT_EQ(last, 29u);
  EXPECT_LE(taken, 30u);
}

}  // namespace
}  // namespace trama
