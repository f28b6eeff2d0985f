#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "control/relay_stream.hpp"
#include "control/verbs.hpp"
#include "libclient/subscriber.hpp"
#include "modules/support/stream_keys.hpp"
#include "tests/libclient/stream_feeds.hpp"

namespace trama {
namespace {

using namespace std::chrono_literals;
using test::PublisherThread;
using test::sample_window;
using testing::HasSubstr;

constexpr auto kLong = 20s;

// `trama relay` on a thread of its own. What it says is captured, so there may be one that is waited for with said().
class RelayThread {
 public:
  explicit RelayThread(Arguments arguments)
      : thread_([this, arguments = std::move(arguments)] { status_ = relay_verb(arguments); }) {}
  ~RelayThread() {
    if (thread_.joinable()) stop();
  }
  int wait() {
    thread_.join();
    return status_;
  }
  int stop() {
    pthread_kill(thread_.native_handle(), SIGTERM);
    return wait();
  }

 private:
  int status_ = -1;
  std::thread thread_;
};

class Relay : public ::testing::Test {
 protected:
  Relay() {
    // Comes before all threads, as in the command: a signal to a relay that doesn't block it yet would end the test.
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
  }
  std::string at(const std::string& name) const { return "trama+ipc://" + (folder_ / name).string(); }
  std::unique_ptr<PublisherThread> publisher(size_t queue = 16) const {
    StreamConfig config;
    config.queue = queue;
    config.beat_ns = 50'000'000;
    return std::make_unique<PublisherThread>(config, parse_stream_url(at("origin")).value());
  }
  static void publish(PublisherThread& publisher, uint64_t from, uint64_t to,
                      EnvelopeEncoding encoding = EnvelopeEncoding::blob_lz4) {
    for (uint64_t seq = from; seq < to; ++seq)
      EXPECT_TRUE(publisher.publish(sample_window(seq, 50, encoding)->envelope));
  }
  static void await(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + kLong;
    while (!condition() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(condition());
  }
  static Subscriber subscribe(const std::string& url, SubscribeOptions options = {}, bool wait = true) {
    auto subscriber = Subscriber::open(url, options);
    if (!subscriber) throw std::runtime_error(subscriber.error().text);
    if (wait) await([&] { return subscriber->connected(); });
    return std::move(*subscriber);
  }
  static SubscribeOptions last(uint64_t windows) {
    SubscribeOptions options;
    options.start = StartKind::last;
    options.start_at = windows;
    return options;
  }
  static std::optional<StreamWindow> expect_window(Subscriber& subscriber, uint64_t seq, uint64_t missed = 0,
                                                   bool restarted = false) {
    Next next = subscriber.next(kLong);
    EXPECT_EQ(next.outcome, Outcome::window) << "instead of " << seq << next.error.text;
    if (!next.window) return std::nullopt;
    EXPECT_EQ(next.window->info().seq, seq);
    EXPECT_EQ(next.window->missed, missed) << "before " << seq;
    EXPECT_EQ(next.window->restarted, restarted) << "before " << seq;
    return std::move(next.window);
  }
  static std::vector<uint8_t> enveloped(const StreamWindow& window) {
    return test::enveloped(envelope_of(window.info(), window.serialized()));
  }
  const test::ScratchFolder folder_;
};

TEST_F(Relay, WindowsTravelAsTheyCameThroughTwoOfThem) {
  const auto origin = publisher();
  RelayThread first({at("origin"), "--to", at("one"), "-q"});
  RelayThread second({at("one"), "--to", at("two"), "-q"});
  await([&] { return origin->subscribers() == 1; });
  Subscriber direct = subscribe(at("origin")), half_way = subscribe(at("one"), last(100), false),
             relayed = subscribe(at("two"), last(100), false);
  uint64_t seq = 0;
  for (const EnvelopeEncoding encoding : test::kWindowEncodings) {
    publish(*origin, seq, seq + 1, encoding);
    const auto as_sent = expect_window(direct, seq), as_relayed = expect_window(relayed, seq),
               by_one = expect_window(half_way, seq);
    ASSERT_TRUE(as_sent && as_relayed && by_one);
    EXPECT_EQ(as_relayed->info().encoding, encoding);
    EXPECT_EQ(enveloped(*as_relayed), enveloped(*as_sent));
    EXPECT_EQ(enveloped(*by_one), enveloped(*as_sent));  // the run is in it
    ++seq;
  }
  Envelope tail = sample_window(seq)->envelope;
  tail.encoding = EnvelopeEncoding::tail;
  tail.packets = tail.links = 0;
  tail.matrix = {};
  tail.verdicts = {.counted = 0, .ipv6 = 9};
  EXPECT_TRUE(origin->publish(tail));
  EXPECT_EQ(origin->subscribers(), 2u);  // the windows of the origin go out once for all who are behind the relays
  origin->finish();
  EXPECT_EQ(first.wait(), kDone);
  EXPECT_EQ(second.wait(), kDone);
  const Next end = relayed.next(kLong);
  EXPECT_EQ(end.outcome, Outcome::ended);
  EXPECT_EQ(end.missed, 0u);
  EXPECT_EQ(relayed.tail().ipv6, 9u);
}

TEST_F(Relay, WhatIsMissedAboveIsMissedBelow) {
  testing::internal::CaptureStderr();
  const auto origin = publisher();
  RelayThread relay({at("origin"), "--to", at("one")});
  Subscriber subscriber = subscribe(at("one"), last(100), false);
  publish(*origin, 0, 2);
  expect_window(subscriber, 0);
  expect_window(subscriber, 1);
  origin->run([](StreamPublisher& p) { p.pass(2), p.pass(3); });
  publish(*origin, 4, 5);
  expect_window(subscriber, 4, 2);
  origin->run([](StreamPublisher& p) { p.pass(5); });
  origin->finish();
  EXPECT_EQ(relay.wait(), kLossy);
  const Next end = subscriber.next(kLong);
  EXPECT_EQ(end.outcome, Outcome::ended);
  EXPECT_EQ(end.missed, 1u);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("3 windows came, 3 were missed; 1 subscriber got 3 windows in all, slow ones lost 0"));
}

TEST_F(Relay, ARestartAboveIsARestartBelow) {
  auto origin = publisher();
  RelayThread relay({at("origin"), "--to", at("one"), "-q", "--past-end"});
  Subscriber subscriber = subscribe(at("one"), last(100), false);
  publish(*origin, 0, 3);
  for (uint64_t seq = 0; seq < 3; ++seq) expect_window(subscriber, seq);
  origin.reset();  // killed
  origin = publisher();
  publish(*origin, 0, 2);
  expect_window(subscriber, 0, 0, true);
  expect_window(subscriber, 1);
  origin->run([](StreamPublisher& p) { p.pass(2); });
  origin->finish();  // with --past-end the relay waits for the next one
  origin = publisher();
  origin->run([](StreamPublisher& p) { p.pass(0); });
  publish(*origin, 1, 2);
  expect_window(subscriber, 1, 2, true);
  EXPECT_EQ(subscriber.next(0ms).outcome, Outcome::timeout);
  EXPECT_EQ(relay.stop(), kLossy);
  EXPECT_EQ(subscriber.next(kLong).outcome, Outcome::ended);
}

// A slow one behind a relay loses its own, and the relay takes everything all the same.
TEST_F(Relay, ASlowSubscriberLosesItsOwnWindowsOnly) {
  const auto origin = publisher();
  RelayThread relay({at("origin"), "--to", at("one"), "-q", "--queue", "4", "--linger", "60"});
  SubscribeOptions narrow;
  narrow.ahead = 2;
  Subscriber slow = subscribe(at("one"), narrow, false), quick = subscribe(at("one"), {}, false);
  publish(*origin, 0, 1);
  await([&] { return slow.connected() && quick.connected(); });
  publish(*origin, 1, 2);
  const Next first = quick.next(kLong);  // whichever it was there for
  ASSERT_TRUE(first.window);
  for (uint64_t seq = first.window->info().seq + 1; seq < 2; ++seq) expect_window(quick, seq);
  for (uint64_t seq = 2; seq < 50; ++seq) {
    publish(*origin, seq, seq + 1);
    expect_window(quick, seq);
  }
  std::thread ending([&] { origin->finish(60'000); });
  uint64_t missed = 0, taken = 0, from = 0;
  Next next;
  while ((next = slow.next(kLong)).window) {
    if (taken == 0) from = next.window->info().seq;
    missed += next.window->missed, ++taken;
  }
  ending.join();
  EXPECT_EQ(next.outcome, Outcome::ended);
  EXPECT_EQ(missed + next.missed + taken, 50u - from);
  EXPECT_EQ(taken, 2u + 4u);
  EXPECT_EQ(relay.wait(), kDone);
}

TEST_F(Relay, SigtermEndsTheStreamBelowCleanly) {
  const auto origin = publisher();
  RelayThread relay({at("origin"), "--to", at("one"), "-q"});
  Subscriber subscriber = subscribe(at("one"), last(100), false);
  publish(*origin, 0, 1);
  expect_window(subscriber, 0);
  EXPECT_EQ(relay.stop(), kDone);
  EXPECT_EQ(subscriber.next(kLong).outcome, Outcome::ended);
  await([&] { return origin->subscribers() == 0; });  // it has taken its leave there too
}

// One that is started again has what its publisher still has, so that those behind it miss nothing.
TEST_F(Relay, OneThatIsStartedAgainGoesOn) {
  const auto origin = publisher();
  SubscribeOptions past_end = last(100);
  past_end.past_end = true;
  auto relay = std::make_unique<RelayThread>(Arguments{at("origin"), "--to", at("one"), "-q"});
  Subscriber subscriber = subscribe(at("one"), past_end, false);
  publish(*origin, 0, 3);
  for (uint64_t seq = 0; seq < 3; ++seq) expect_window(subscriber, seq);
  EXPECT_EQ(relay->stop(), kDone);
  publish(*origin, 3, 8);
  relay = std::make_unique<RelayThread>(Arguments{at("origin"), "--to", at("one"), "-q"});
  for (uint64_t seq = 3; seq < 8; ++seq) expect_window(subscriber, seq);
}

// A publisher that isn't to be trusted: what its envelopes say is sealed, and no matrix is in them.
TEST_F(Relay, WhatIsNoMatrixIsNotPassedOn) {
  const auto origin = publisher();
  RelayThread relay({at("origin"), "--to", at("one"), "-q"});
  Subscriber subscriber = subscribe(at("one"), last(100), false);
  publish(*origin, 0, 1);
  expect_window(subscriber, 0);
  auto forged = sample_window(1);
  forged->bytes[forged->bytes.size() / 2] ^= 0x40;
  EXPECT_TRUE(origin->publish(forged->envelope));
  auto lying = sample_window(2);
  lying->envelope.packets = lying->envelope.verdicts.counted = 49;
  EXPECT_TRUE(origin->publish(lying->envelope));
  publish(*origin, 3, 4);
  expect_window(subscriber, 3, 2);
  EXPECT_EQ(subscriber.counts().damaged, 0u);
  origin->finish();
  EXPECT_EQ(relay.wait(), kLossy);
}

TEST_F(Relay, AFolderOfArchivesIsServedToMany) {
  std::filesystem::create_directories(folder_ / "in");
  test::FolderFeed feed(folder_ / "in");
  for (uint64_t seq = 0; seq < 3; ++seq) feed.publish(seq);
  RelayThread relay({"file://" + (folder_ / "in").string(), "--to", at("one"), "-q", "--last", "2"});
  Subscriber subscriber = subscribe(at("one"), last(100));
  expect_window(subscriber, 1);
  expect_window(subscriber, 2);
  feed.publish(4);
  const auto window = expect_window(subscriber, 4, 1);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->info().sensor, "roof");
  EXPECT_NE(window->info().run, 0u);
  feed.restart();
  feed.publish(0);
  expect_window(subscriber, 0, 0, true);
  feed.write(1, [](std::vector<uint8_t>&, Manifest& manifest) { manifest.tail.not_ip = 5; });
  expect_window(subscriber, 1);
  // A tail comes behind the last window of its archive, and is told at the end: the relay has it when this has come.
  feed.publish(2);
  expect_window(subscriber, 2);
  EXPECT_EQ(relay.stop(), kLossy);
  EXPECT_EQ(subscriber.next(kLong).outcome, Outcome::ended);
  EXPECT_EQ(subscriber.tail().not_ip, 5u);
}

TEST_F(Relay, WithKeysOnBothSides) {
  for (const char* name : {"origin.key", "relay.key", "friend.key", "stranger.key"})
    if (auto made = make_stream_key(folder_ / name); !made) GTEST_SKIP() << made.error().text;
  std::filesystem::copy_file(folder_ / "relay.key.pub", folder_ / "origin.clients");
  std::filesystem::copy_file(folder_ / "friend.key.pub", folder_ / "relay.clients");
  StreamConfig config;
  config.keys = *load_stream_keys(folder_ / "origin.key", folder_ / "origin.clients");
  PublisherThread origin(config, parse_stream_url(at("origin")).value());
  const auto file = [&](const char* name) { return (folder_ / name).string(); };
  RelayThread relay({at("origin"), "--publisher-key", file("origin.key.pub"), "--stream-key", file("relay.key"), "--to",
                     at("one"), "--server-key", file("relay.key"), "--clients", file("relay.clients"), "-q"});
  publish(origin, 0, 2);
  SubscribeOptions options = last(100);
  options.keys = {*load_stream_public(folder_ / "relay.key.pub"), *load_stream_secret(folder_ / "friend.key")};
  Subscriber subscriber = subscribe(at("one"), options);
  expect_window(subscriber, 0);
  expect_window(subscriber, 1);
  options.reconnect = false;
  options.keys.secret = *load_stream_secret(folder_ / "stranger.key");
  Subscriber stranger = subscribe(at("one"), options, false);
  EXPECT_EQ(stranger.next(kLong).outcome, Outcome::error);
}

TEST_F(Relay, WhatCanNotBeIsRefused) {
  test::write_file(folder_ / "precious", std::string("x"));
  const std::pair<Arguments, const char*> cases[] = {
      {{}, "URL"},
      {{at("x")}, "--to is missing"},
      {{"http://127.0.0.1", "--to", at("x")}, "not the URL"},
      {{at("x"), "--to", "http://127.0.0.1"}, "not the URL"},
      {{at("x"), "--to", "file:///tmp"}, "trama subscribe -w DIR"},
      {{at("x"), "--to", at("precious")}, "something else is there"},
      {{at("x"), "--to", "trama+tcp://0.0.0.0:0/x"}, "--insecure"},
      {{at("x"), "--to", at("y"), "--server-key", "/nonexistent"}, "go together"},
      {{at("x"), "--to", at("y"), "--server-key", "/nonexistent"}, "public keys of those who may subscribe"},
      {{at("x"), "--to", at("y"), "--server-key", "/nonexistent", "--clients", "/nonexistent"}, "/nonexistent"},
      {{at("x"), "--to", at("y"), "--last", "1", "--number", "1"}, "exclude each other"},
      {{at("x"), "--to", at("y"), "--stream-key", "/nonexistent"}, "go together"},
      {{"file:///nonexistent/folder", "--to", at("y")}, "/nonexistent/folder"},
  };
  for (const auto& [arguments, what] : cases) {
    testing::internal::CaptureStderr();
    const int status = relay_verb(arguments);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(status, kMisused) << what;
    EXPECT_THAT(said, HasSubstr(what));
  }
}

}  // namespace
}  // namespace trama
