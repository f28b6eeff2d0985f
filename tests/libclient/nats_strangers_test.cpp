// What others put on a NATS server, and what its server does not do.
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

}  // namespace
}  // namespace trama
