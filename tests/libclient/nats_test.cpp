// What holds for streams over NATS alone, with a server: what it stores, what it loses, what others put there.
#include <gmock/gmock.h>

#include "libclient/subscriber.hpp"
#include "libclient/transports/nats_subjects.hpp"
#include "tests/libclient/nats_feeds.hpp"

namespace trama {
namespace {

using namespace std::chrono_literals;
using test::NatsPublisherThread;
using test::NatsServer;
using test::sample_window;
using testing::HasSubstr;

constexpr auto kLong = 30s;

class Nats : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nats_available() || !NatsServer::installed()) GTEST_SKIP() << "no NATS here";
  }
  static NatsConfig config(const NatsServer& server, size_t queue = 16) {
    NatsConfig config;
    config.url = parse_stream_url(server.url()).value();
    config.store.bytes = 64 << 20;
    config.queue = queue;
    config.beat_ns = 50'000'000;
    return config;
  }
  static void await(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + kLong;
    while (!condition() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(condition());
  }
  static void await_said(NatsPublisherThread& publisher, const std::string& text) {
    await([&] {
      const auto said = publisher.said();
      return std::any_of(said.begin(), said.end(),
                         [&](const Diagnostic& diagnostic) { return diagnostic.text.find(text) != std::string::npos; });
    });
  }
  static void publish(NatsPublisherThread& publisher, uint64_t from, uint64_t to) {
    for (uint64_t seq = from; seq < to; ++seq) {
      EXPECT_TRUE(publisher.publish(sample_window(seq)->envelope));
      await([&] { return publisher.waiting() == 0; });
    }
  }
  static Subscriber subscribe(const NatsServer& server, StartKind start, uint64_t at, SubscribeOptions options = {}) {
    options.start = start;
    options.start_at = at;
    auto subscriber = Subscriber::open(server.url(), options);
    if (!subscriber) throw std::runtime_error(subscriber.error().text);
    await([&] { return subscriber->connected(); });
    return std::move(*subscriber);
  }
  static void expect_window(Subscriber& subscriber, uint64_t seq, uint64_t missed = 0) {
    const Next next = subscriber.next(kLong);
    ASSERT_EQ(next.outcome, Outcome::window) << next.error.text;
    EXPECT_EQ(next.window->info().seq, seq);
    EXPECT_EQ(next.window->missed, missed) << "before " << seq;
  }
  // A message from anybody who may publish there.
  static void put(const NatsServer& server, const std::string& subject, std::span<const uint8_t> bytes) {
    auto link = NatsLink::open(parse_stream_url(server.url()).value(), {}, true);
    ASSERT_TRUE(link);
    await([&] { return (*link)->connected(); });
    EXPECT_EQ((*link)->send(subject, bytes), NatsSent::done);
    EXPECT_TRUE((*link)->flush(10'000));
  }
};

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
  const Next end = subscriber.next(kLong);
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
  const Next first = subscriber.next(kLong);
  ASSERT_TRUE(first.window);
  EXPECT_TRUE(first.window->restarted);
  EXPECT_EQ(first.window->info().seq, 0u);
  expect_window(subscriber, 1);
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
  const Next first = all.next(kLong);
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
  small.beat_ns = 5'000'000'000;
  NatsPublisherThread publisher(small);
  publish(publisher, 0, 200);
  SubscribeOptions options;
  options.start = StartKind::last;
  options.start_at = 100'000;
  auto all = Subscriber::open(server.url(), options);
  ASSERT_TRUE(all);
  const Next first = all->next(kLong);
  ASSERT_TRUE(first.window) << first.error.text;
  EXPECT_LT(first.window->info().seq, 199u);
  EXPECT_EQ(first.window->missed, 0u);
  for (uint64_t seq = first.window->info().seq + 1; seq < 200; ++seq) expect_window(*all, seq);
}

// What doesn't answer says nothing: here somebody else's subscription has the questions, and nobody answers them.
TEST_F(Nats, AStoreThatDoesNotAnswerIsAskedAgain) {
  const NatsServer server("jetstream: false");
  auto link = NatsLink::open(parse_stream_url(server.url()).value(), {}, true);
  ASSERT_TRUE(link);
  await([&] { return (*link)->connected(); });
  ASSERT_TRUE((*link)->subscribe("$JS.API.>", 64, 1024) && (*link)->flush(10'000));
  NatsPublisherThread publisher(config(server));
  SubscribeOptions options;
  options.start = StartKind::last;
  options.start_at = 5;
  auto subscriber = Subscriber::open(server.url(), options);
  ASSERT_TRUE(subscriber);
  size_t questions = 0;  // each session has one
  await([&] {
    while (const auto message = (*link)->take()) questions += message->subject.starts_with("$JS.API.STREAM.INFO.");
    return questions >= 2;
  });
  EXPECT_FALSE(subscriber->connected());
  EXPECT_EQ(subscriber->counts().sessions, 0u);
}

TEST_F(Nats, AServerThatOthersNameIsNotGoneTo) {
  // Two servers of one cluster tell their clients of each other.
  const std::string routes = std::to_string(test::free_port());
  NatsServer named("cluster { name: c, listen: \"127.0.0.1:" + routes + "\" }\nserver_name: named\njetstream: false");
  NatsServer other("cluster { name: c, listen: \"127.0.0.1:-1\", routes: [\"nats://127.0.0.1:" + routes +
                   "\"] }\nserver_name: other\njetstream: false");
  auto link = NatsLink::open(parse_stream_url(named.url()).value(), {}, true);
  ASSERT_TRUE(link);
  await([&] { return (*link)->connected(); });
  // What crosses from one to the other shows that they know each other.
  auto across = NatsLink::open(parse_stream_url(other.url()).value(), {}, true);
  ASSERT_TRUE(across);
  await([&] { return (*across)->connected(); });
  ASSERT_TRUE((*link)->subscribe("across", 64, 1024) && (*link)->flush(10'000));
  bool crossed = false;
  await([&] {
    (*across)->send("across", "x");
    return crossed |= (*link)->take().has_value();
  });
  named.kill();
  await([&] { return !(*link)->connected(); });
  const auto until = std::chrono::steady_clock::now() + 2s;  // many times what it takes to connect anew
  while (std::chrono::steady_clock::now() < until && !(*link)->connected()) std::this_thread::sleep_for(5ms);
  EXPECT_FALSE((*link)->connected());
  named.start();
  await([&] { return (*link)->connected(); });
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
  for (Next next = slow.next(kLong);; next = slow.next(kLong)) {
    missed += next.window ? next.window->missed : next.missed;
    if (!next.window) break;
    ++taken;
    last = next.window->info().seq;
  }
  EXPECT_EQ(taken + missed, 30u);
  EXPECT_EQ(last, 29u);
  EXPECT_LE(taken, 30u);
}

TEST_F(Nats, WindowsThatAreTooLongAreRefusedHere) {
  const NatsServer server("max_payload: 1500");
  NatsPublisherThread publisher(config(server));
  publish(publisher, 0, 1);
  EXPECT_TRUE(publisher.publish(sample_window(1, 5000)->envelope));
  await([&] { return publisher.totals().too_long == 1; });
  publish(publisher, 2, 3);
  Subscriber subscriber = subscribe(server, StartKind::number, 0);
  expect_window(subscriber, 0);
  expect_window(subscriber, 2, 1);
  const auto said = publisher.said();
  EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](const Diagnostic& diagnostic) {
    return diagnostic.text.find("max_payload: 1500") != std::string::npos &&
           diagnostic.hint.find("8MB") != std::string::npos;
  }));
}

// Anybody who may publish there can put anything there.
TEST_F(Nats, NonsenseIsNoWindow) {
  const NatsServer server;
  NatsPublisherThread publisher(config(server));
  publish(publisher, 0, 1);
  uint64_t run = 0;
  publisher.run([&](NatsPublisher& p) { run = p.run(); });
  Subscriber subscriber = subscribe(server, StartKind::number, 0);
  expect_window(subscriber, 0);
  const StreamUrl url = parse_stream_url(server.url()).value();
  const std::string nonsense = "nonsense";
  const std::span text(reinterpret_cast<const uint8_t*>(nonsense.data()), nonsense.size());
  put(server, nats_window_subject(url, run, 1), text);  // as a window: can't be read, and is missed
  put(server, nats_note_subject(url, run), text);
  put(server, url.stream + ".x.y", text);
  const auto other = test::enveloped(sample_window(7, 50, EnvelopeEncoding::blob_lz4, run)->envelope);
  put(server, nats_window_subject(url, run, 2), other);  // another window in its place
  publish(publisher, 3, 4);
  expect_window(subscriber, 3, 2);
  EXPECT_EQ(subscriber.counts().damaged, 3u);  // with the note
}

TEST_F(Nats, AStreamOfSomebodyElseIsLeftAlone) {
  const NatsServer server;
  NatsPublisherThread first(config(server));
  publish(first, 0, 1);
  NatsConfig same_store = config(server);
  same_store.url.store = nats_store(same_store.url);
  same_store.url.stream = "test.cellar";
  NatsPublisherThread second(same_store);
  await_said(second, "doesn't store test.cellar.*.*");
}

TEST_F(Nats, AWrongPasswordIsSaidWithoutIt) {
  const NatsServer server("authorization { user: me, password: sesame }", "me:guess@");
  NatsPublisherThread publisher(config(server));
  await_said(publisher, "no connection");
  for (const Diagnostic& said : publisher.said()) EXPECT_EQ((said.text + said.hint).find("guess"), std::string::npos);
  SubscribeOptions options;
  options.reconnect = false;
  auto subscriber = Subscriber::open(server.url(), options);
  const Next next = subscriber->next(kLong);
  EXPECT_EQ(next.outcome, Outcome::error);
  EXPECT_EQ(next.error.text.find("guess"), std::string::npos) << next.error.text;
}

TEST_F(Nats, WithoutAServerASubscriberThatDoesNotWaitIsTold) {
  NatsServer server;
  server.kill();
  SubscribeOptions options;
  options.reconnect = false;
  auto subscriber = Subscriber::open(server.url(), options);
  const Next next = subscriber->next(kLong);
  EXPECT_EQ(next.outcome, Outcome::error);
  EXPECT_THAT(next.error.text, HasSubstr("no connection"));
}

TEST(NatsAccess, FilesThatCanNotBeUsedAreNamed) {
  const test::ScratchFolder folder;
  test::write_file(folder / "text", std::string("abc\n"));
  test::write_file(folder / "login", std::string("me:sesame\n"));
  const std::string text = folder / "text", login = folder / "login", missing = folder / "missing";
  std::filesystem::permissions(login, std::filesystem::perms(0600));
  EXPECT_EQ(NatsAccess::load("", "", "", "", login)->password, "sesame");
  EXPECT_THAT(NatsAccess::load(text, "", "", "", "").error().text, HasSubstr("PEM"));
  EXPECT_THAT(NatsAccess::load(missing, "", "", "", "").error().text, HasSubstr(missing));
  EXPECT_THAT(NatsAccess::load("", text, "", "", "").error().text, HasSubstr("together"));
  EXPECT_THAT(NatsAccess::load("", "", "", missing, "").error().text, HasSubstr(missing));
  EXPECT_THAT(NatsAccess::load("", "", "", login, login).error().text, HasSubstr("exclude"));
  EXPECT_THAT(NatsAccess::load("", "", "", login, "").error().text, HasSubstr("JWT"));
  const std::string credentials = folder / "credentials";
  test::write_file(credentials,
                   std::string("-----BEGIN NATS USER JWT-----\neyJ0.abc\n------END NATS USER JWT------\n\n"
                               "-----BEGIN USER NKEY SEED-----\r\nSUAB\r\n------END USER NKEY SEED------\n"));
  std::filesystem::permissions(credentials, std::filesystem::perms(0600));
  const auto access = NatsAccess::load("", "", "", credentials, "");
  ASSERT_TRUE(access) << access.error().text;
  EXPECT_EQ(access->user_jwt, "eyJ0.abc");
  EXPECT_EQ(access->user_seed, "SUAB");
  std::filesystem::permissions(login, std::filesystem::perms(0640));
  EXPECT_THAT(NatsAccess::load("", "", "", "", login).error().hint, HasSubstr("chmod"));
}

}  // namespace
}  // namespace trama
