// What holds for publishers: subscribers that are slow or gone, runs that end.
#include <zmq.hpp>

#include "tests/libclient/publisher_fixture.hpp"

namespace trama {
namespace {

using namespace std::chrono_literals;
using test::Publisher;
using test::PublisherThread;
using test::sample_window;

TEST_F(Publisher, SlowOnesLoseTheirOwnWindowsExactly) {
  PublisherThread publisher(config(4), any_port());
  SubscribeOptions options;
  options.ahead = 2;
  Subscriber slow = subscribe(publisher.url().text(), options);
  Subscriber quick = subscribe(publisher.url().text());
  for (uint64_t seq = 0; seq < 40; ++seq) {
    publish(publisher, seq, seq + 1);
    EXPECT_EQ(take_all(quick, kPatience, 1).last, seq);
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
  EXPECT_EQ(take_all(subscriber, kPatience, 3).last, 2u);
  first->finish();
  first.reset();
  PublisherThread second(config(), url);
  publish(second, 0, 2);
  const Next next = subscriber.next(kPatience);
  ASSERT_TRUE(next.window);
  EXPECT_EQ(next.window->info().seq, 0u);
  EXPECT_TRUE(next.window->restarted);
}

TEST_F(Publisher, WithoutReconnectALostConnectionIsAnError) {
  SubscribeOptions options;
  options.reconnect = false;
  auto nobody = Subscriber::open("trama+tcp://127.0.0.1:1/x", options);
  EXPECT_EQ(nobody->next(kPatience).outcome, Outcome::error);
  EXPECT_EQ(nobody->next(kPatience).outcome, Outcome::error);
  auto publisher = std::make_unique<PublisherThread>(config(), any_port());
  Subscriber subscriber = subscribe(publisher->url().text(), options);
  publisher.reset();
  EXPECT_EQ(take_all(subscriber).outcome, Outcome::error);
}

// It ends the connection, and is missed once the publisher has it no more.
TEST_F(Publisher, AWindowThatIsTooLongForASubscriberIsMissedByItAlone) {
  PublisherThread publisher(config(), any_port());
  SubscribeOptions options;
  options.max_bytes = 2000;
  Subscriber narrow = subscribe(publisher.url().text(), options), wide = subscribe(publisher.url().text());
  publish(publisher, 0, 1);
  EXPECT_EQ(take_all(narrow, kPatience, 1).taken, 1u);
  const auto large = sample_window(1, 2000);
  ASSERT_GT(envelope_bytes(large->envelope), options.max_bytes);
  EXPECT_TRUE(publisher.publish(large->envelope));
  EXPECT_EQ(take_all(wide, kPatience, 2).taken, 2u);
  for (uint64_t seq = 2; seq < 30; ++seq) {
    publish(publisher, seq, seq + 1);
    EXPECT_EQ(take_all(wide, kPatience, 1).last, seq);
  }
  const Next next = narrow.next(kPatience);
  ASSERT_TRUE(next.window);
  EXPECT_EQ(next.window->info().seq, 14u);  // the oldest that is kept
  EXPECT_EQ(next.window->missed, 13u);
  EXPECT_EQ(take_all(narrow, kPatience, 15).last, 29u);
}

}  // namespace
}  // namespace trama
