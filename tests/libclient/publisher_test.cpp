// What holds for publishers: subscribers that are slow or gone, connections that are lost, peers that make no sense.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zmq.hpp>

#include "libclient/subscriber.hpp"
#include "modules/support/stream_keys.hpp"
#include "tests/libclient/byte_proxy.hpp"
#include "tests/libclient/stream_feeds.hpp"
#include "tests/support/long_tests.hpp"

namespace trama {
namespace {

using namespace std::chrono_literals;
using test::PublisherThread;
using test::sample_window;

constexpr auto kLong = 20s;

class Publisher : public ::testing::Test {
 protected:
  static StreamConfig config(size_t queue = 16) {
    StreamConfig config;
    config.queue = queue;
    config.beat_ns = 50'000'000;
    return config;
  }
  static StreamUrl any_port() { return parse_stream_url("trama+tcp://127.0.0.1:0/site").value(); }
  static void await(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + kLong;
    while (!condition() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(condition());
  }
  static Subscriber subscribe(const std::string& url, SubscribeOptions options = {}) {
    auto subscriber = Subscriber::open(url, options);
    if (!subscriber) throw std::runtime_error(subscriber.error().text);
    await([&] { return subscriber->connected(); });
    return std::move(*subscriber);
  }
  static void publish(PublisherThread& publisher, uint64_t from, uint64_t to) {
    for (uint64_t seq = from; seq < to; ++seq) EXPECT_TRUE(publisher.publish(sample_window(seq)->envelope));
  }
  // Windows with what was missed before them, until the end or until nothing comes.
  struct Account {
    uint64_t taken = 0, missed = 0, last = 0;
    Outcome outcome = Outcome::timeout;
    FormatError error;
  };
  static Account take_all(Subscriber& subscriber, std::chrono::milliseconds timeout = kLong,
                          uint64_t most = UINT64_MAX) {
    Account account;
    while (account.taken < most) {
      const Next next = subscriber.next(timeout);
      account.outcome = next.outcome;
      account.missed += next.missed;
      account.error = next.error;
      if (!next.window) break;
      account.missed += next.window->missed;
      if (account.taken > 0) {
        EXPECT_EQ(next.window->info().seq, account.last + 1 + next.window->missed);
      }
      account.last = next.window->info().seq;
      ++account.taken;
    }
    return account;
  }
};

TEST_F(Publisher, SlowOnesLoseTheirOwnWindowsExactly) {
  PublisherThread publisher(config(4), any_port());
  SubscribeOptions options;
  options.ahead = 2;
  Subscriber slow = subscribe(publisher.url().text(), options);
  Subscriber quick = subscribe(publisher.url().text());
  for (uint64_t seq = 0; seq < 40; ++seq) {
    publish(publisher, seq, seq + 1);
    EXPECT_EQ(take_all(quick, kLong, 1).last, seq);
  }
  std::thread ending([&] { publisher.finish(); });
  const Account account = take_all(slow);
  const Account rest = take_all(quick);
  ending.join();
  EXPECT_EQ(account.outcome, Outcome::ended);
  EXPECT_EQ(account.taken, 2u + 4u);
  EXPECT_EQ(account.missed, 40u - account.taken);
  EXPECT_EQ(rest.outcome, Outcome::ended);
  EXPECT_EQ(quick.counts().missed, 0u);
}

TEST_F(Publisher, ALossBehindTheLastWindowIsToldByHeartbeat) {
  PublisherThread publisher(config(), any_port());
  Subscriber subscriber = subscribe(publisher.url().text());
  publish(publisher, 0, 2);
  publisher.run([](StreamPublisher& p) { p.pass(2), p.pass(3); });
  std::thread ending([&] { publisher.finish(); });
  const Account account = take_all(subscriber);
  ending.join();
  EXPECT_EQ(account.taken, 2u);
  EXPECT_EQ(account.missed, 2u);
}

TEST_F(Publisher, ASubscriberThatDropsHasTheNewest) {
  PublisherThread publisher(config(), any_port());
  SubscribeOptions options;
  options.overflow = Overflow::drop;
  options.ahead = 3;
  Subscriber subscriber = subscribe(publisher.url().text(), options);
  for (uint64_t seq = 0; seq < 30; ++seq) {
    publish(publisher, seq, seq + 1);
    await([&] { return publisher.totals().sent == seq + 1; });
  }
  publisher.finish();  // returns when the subscriber has heard of it
  const Account account = take_all(subscriber);
  EXPECT_EQ(account.taken, 3u);
  EXPECT_EQ(account.last, 29u);
  EXPECT_EQ(account.missed, 27u);
}

TEST_F(Publisher, OnesThatVanishAreForgotten) {
  StreamConfig short_patience = config();
  short_patience.patience_ns = 200'000'000;
  PublisherThread publisher(short_patience, any_port());
  {
    const Subscriber leaves = subscribe(publisher.url().text());
    EXPECT_EQ(publisher.subscribers(), 1u);
  }
  await([&] { return publisher.subscribers() == 0; });
  // One that never says anything again.
  zmq::context_t context;
  zmq::socket_t silent(context, zmq::socket_type::dealer);
  silent.set(zmq::sockopt::linger, 0);
  silent.connect(publisher.url().endpoint());
  StreamNote note;
  note.kind = NoteKind::subscribe;
  note.allowed = 1;
  std::array<uint8_t, kMostNoteBytes> bytes;
  silent.send(zmq::buffer(bytes.data(), write_note(note, bytes)), zmq::send_flags::none);
  await([&] { return publisher.totals().joined == 2; });
  publish(publisher, 0, 50);
  await([&] { return publisher.subscribers() == 0; });
  EXPECT_EQ(publisher.totals().sent, 1u);  // what it had room for
  // When it speaks again it is told that it has to begin anew.
  note.kind = NoteKind::allow;
  silent.send(zmq::buffer(bytes.data(), write_note(note, bytes)), zmq::send_flags::none);
  zmq::message_t answer;
  for (bool refused = false; !refused;) {
    ASSERT_TRUE(silent.recv(answer));
    const auto heard = read_note({static_cast<const uint8_t*>(answer.data()), answer.size()});
    refused = heard && heard->kind == NoteKind::refused && heard->refusal == Refusal::unknown;
  }
}

TEST_F(Publisher, ARunThatEndsIsFollowedByTheNext) {
  SubscribeOptions options;
  options.past_end = true;
  auto first = std::make_unique<PublisherThread>(config(), any_port());
  const StreamUrl url = first->url();
  Subscriber subscriber = subscribe(first->url().text(), options);
  publish(*first, 0, 3);
  EXPECT_EQ(take_all(subscriber, kLong, 3).last, 2u);
  first->finish();
  first.reset();
  PublisherThread second(config(), url);
  publish(second, 0, 2);
  const Next next = subscriber.next(kLong);
  ASSERT_TRUE(next.window);
  EXPECT_EQ(next.window->info().seq, 0u);
  EXPECT_TRUE(next.window->restarted);
}

TEST_F(Publisher, WithoutReconnectALostConnectionIsAnError) {
  SubscribeOptions options;
  options.reconnect = false;
  auto nobody = Subscriber::open("trama+tcp://127.0.0.1:1/x", options);
  EXPECT_EQ(nobody->next(kLong).outcome, Outcome::error);
  EXPECT_EQ(nobody->next(kLong).outcome, Outcome::error);
  auto publisher = std::make_unique<PublisherThread>(config(), any_port());
  Subscriber subscriber = subscribe(publisher->url().text(), options);
  publisher.reset();
  EXPECT_EQ(take_all(subscriber).outcome, Outcome::error);
}

TEST_F(Publisher, RefusalsAreNamed) {
  StreamConfig one = config();
  one.subscribers = 1;
  PublisherThread publisher(one, any_port());
  StreamUrl other = publisher.url();
  other.stream = "other";
  auto wrong = Subscriber::open(other.text());
  const Account refused = take_all(*wrong);
  EXPECT_EQ(refused.outcome, Outcome::error);
  EXPECT_NE(refused.error.text.find("no stream of that name"), std::string::npos) << refused.error.text;
  const Subscriber first = subscribe(publisher.url().text());
  SubscribeOptions once;
  once.reconnect = false;
  auto second = Subscriber::open(publisher.url().text(), once);
  EXPECT_NE(take_all(*second).error.text.find("as many subscribers"), std::string::npos);
}

// What isn't said in this protocol is counted, and harms nobody.
TEST_F(Publisher, NonsenseIsLeftAlone) {
  PublisherThread publisher(config(), any_port());
  Subscriber subscriber = subscribe(publisher.url().text());
  zmq::context_t context;
  zmq::socket_t other(context, zmq::socket_type::dealer);
  other.set(zmq::sockopt::linger, 0);
  other.connect(publisher.url().endpoint());
  other.send(zmq::str_buffer("hello"), zmq::send_flags::none);
  other.send(zmq::str_buffer(""), zmq::send_flags::none);
  other.send(zmq::str_buffer("a"), zmq::send_flags::sndmore);
  other.send(zmq::str_buffer("b"), zmq::send_flags::none);
  std::array<uint8_t, kMostNoteBytes> bytes;
  StreamNote note;
  note.kind = NoteKind::subscribe;
  const size_t size = write_note(note, bytes);
  bytes[4] = 9;
  other.send(zmq::buffer(bytes.data(), size), zmq::send_flags::none);
  zmq::message_t answer;
  ASSERT_TRUE(other.recv(answer));
  const auto refused = read_note({static_cast<const uint8_t*>(answer.data()), answer.size()});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->refusal, Refusal::version);
  EXPECT_EQ(publisher.totals().nonsense, 3u);
  other.send(zmq::message_t(kMostNoteBytes + 1), zmq::send_flags::none);  // ends that connection
  publish(publisher, 0, 1);
  EXPECT_EQ(take_all(subscriber, kLong, 1).taken, 1u);
}

TEST_F(Publisher, EnvelopesOfAnotherVersionAreAnError) {
  PublisherThread publisher(config(), any_port());
  Subscriber subscriber = subscribe(publisher.url().text());
  // A publisher that isn't ours, on the way of one that is.
  test::ByteProxy proxy(publisher.url().port);
  proxy.change([](std::vector<uint8_t>& bytes) {
    const uint8_t magic[] = {0xD4, 'T', 'E', 'N', 1};
    const auto found = std::search(bytes.begin(), bytes.end(), std::begin(magic), std::end(magic));
    if (found != bytes.end()) found[4] = 2;
  });
  SubscribeOptions options;
  options.start = StartKind::last;
  options.start_at = 1;
  publish(publisher, 0, 1);
  StreamUrl url = publisher.url();
  url.port = proxy.port();
  auto through = Subscriber::open(url.text(), options);
  const Account account = take_all(*through);
  EXPECT_EQ(account.outcome, Outcome::error);
  EXPECT_NE(account.error.text.find("another version"), std::string::npos) << account.error.text;
}

TEST_F(Publisher, OnesThatSayNothingDoNotKeepOthersOut) {
  PublisherThread publisher(config(), any_port());
  std::vector<FileDescriptor> half_open;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(publisher.url().port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < 200; ++i) {
    half_open.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(half_open.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  Subscriber subscriber = subscribe(publisher.url().text());
  publish(publisher, 0, 3);
  EXPECT_EQ(take_all(subscriber, kLong, 3).taken, 3u);
}

// It ends the connection, and is missed once the publisher has it no more.
TEST_F(Publisher, AWindowThatIsTooLongForASubscriberIsMissedByItAlone) {
  PublisherThread publisher(config(), any_port());
  SubscribeOptions options;
  options.max_bytes = 2000;
  Subscriber narrow = subscribe(publisher.url().text(), options), wide = subscribe(publisher.url().text());
  publish(publisher, 0, 1);
  EXPECT_EQ(take_all(narrow, kLong, 1).taken, 1u);
  const auto large = sample_window(1, 2000);
  ASSERT_GT(envelope_bytes(large->envelope), options.max_bytes);
  EXPECT_TRUE(publisher.publish(large->envelope));
  EXPECT_EQ(take_all(wide, kLong, 2).taken, 2u);
  for (uint64_t seq = 2; seq < 30; ++seq) {
    publish(publisher, seq, seq + 1);
    EXPECT_EQ(take_all(wide, kLong, 1).last, seq);
  }
  const Next next = narrow.next(kLong);
  ASSERT_TRUE(next.window);
  EXPECT_EQ(next.window->info().seq, 14u);  // the oldest that is kept
  EXPECT_EQ(next.window->missed, 13u);
  EXPECT_EQ(take_all(narrow, kLong, 15).last, 29u);
}

// Behind a connection that is cut after any number of bytes the subscriber comes back, and has every window.
TEST_F(Publisher, ACutConnectionIsMadeAgainWithoutALoss) {
  PublisherThread publisher(config(), any_port());
  test::ByteProxy proxy(publisher.url().port);
  StreamUrl url = publisher.url();
  url.port = proxy.port();
  const size_t greeting_and_window = 400 + envelope_bytes(sample_window(0)->envelope);
  const size_t step = greeting_and_window / runs(40, greeting_and_window);
  uint64_t seq = 0;
  for (size_t cut = 1; cut < greeting_and_window; cut += step) {
    SCOPED_TRACE(cut);
    proxy.cut_next_after(cut);
    SubscribeOptions options;
    options.start = StartKind::number;
    options.start_at = seq;
    auto subscriber = Subscriber::open(url.text(), options);
    publish(publisher, seq, seq + 2);
    const Account account = take_all(*subscriber, kLong, 2);
    ASSERT_EQ(account.taken, 2u);
    ASSERT_EQ(account.missed, 0u);
    ASSERT_EQ(account.last, seq + 1);
    seq += 2;
  }
}

TEST_F(Publisher, ChangedBytesNeverBecomeAWindow) {
  PublisherThread publisher(config(), any_port());
  test::ByteProxy proxy(publisher.url().port);
  StreamUrl url = publisher.url();
  url.port = proxy.port();
  // The last bytes of the first envelope: its checksum.
  proxy.change([done = false](std::vector<uint8_t>& bytes) mutable {
    if (bytes.size() > 400 && !done) bytes.back() ^= 1, done = true;
  });
  Subscriber subscriber = subscribe(url.text());
  publish(publisher, 0, 1);
  await([&] { return subscriber.counts().damaged == 1; });
  publish(publisher, 1, 2);
  const Account account = take_all(subscriber, kLong, 1);
  EXPECT_EQ(account.last, 1u);
  EXPECT_EQ(account.missed, 1u);
}

TEST_F(Publisher, WithKeysOnlyThoseOnTheListGetIn) {
  const test::ScratchFolder folder;
  for (const char* name : {"publisher", "friend", "stranger"})
    if (auto made = make_stream_key(folder / name); !made) GTEST_SKIP() << made.error().text;
  EXPECT_FALSE(make_stream_key(folder / "friend"));  // never over a file
  const std::string friends = *load_stream_public(folder / "friend.pub");
  test::write_file(folder / "clients", "# those who may\n\n" + friends + "\n");
  StreamConfig with_keys = config();
  auto keys = load_stream_keys(folder / "publisher", folder / "clients");
  ASSERT_TRUE(keys) << keys.error().text;
  with_keys.keys = *keys;
  PublisherThread publisher(with_keys, any_port());
  SubscribeOptions options;
  options.keys = {*load_stream_public(folder / "publisher.pub"), *load_stream_secret(folder / "friend")};
  Subscriber welcome = subscribe(publisher.url().text(), options);
  publish(publisher, 0, 2);
  EXPECT_EQ(take_all(welcome, kLong, 2).taken, 2u);

  options.reconnect = false;
  options.keys.secret = *load_stream_secret(folder / "stranger");
  auto stranger = Subscriber::open(publisher.url().text(), options);
  EXPECT_EQ(take_all(*stranger).outcome, Outcome::error);
  options.keys = {};
  auto plain = Subscriber::open(publisher.url().text(), options);
  EXPECT_EQ(take_all(*plain).outcome, Outcome::error);
  EXPECT_EQ(publisher.totals().joined, 1u);
}

TEST(StreamKeys, FilesThatCanNotBeUsedAreNamed) {
  const test::ScratchFolder folder;
  test::write_file(folder / "short", std::string("abc\n"));
  EXPECT_FALSE(load_stream_public(folder / "short"));
  EXPECT_FALSE(load_stream_public(folder / "missing"));
  if (!make_stream_key(folder / "key")) GTEST_SKIP() << "no encryption here";
  std::filesystem::permissions(folder / "key", std::filesystem::perms(0640));
  const auto open_to_others = load_stream_secret(folder / "key");
  ASSERT_FALSE(open_to_others);
  EXPECT_NE(open_to_others.error().hint.find("chmod"), std::string::npos);
  std::filesystem::permissions(folder / "key", std::filesystem::perms(0600));
  EXPECT_TRUE(load_stream_secret(folder / "key"));
  test::write_file(folder / "clients", std::string("nonsense\n"));
  const auto keys = load_stream_keys(folder / "key", folder / "clients");
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().place.line, 1);
}

}  // namespace
}  // namespace trama
