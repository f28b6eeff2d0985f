// What the tests of streams over NATS share, beside the server.
#pragma once
#include <algorithm>
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <thread>

#include "libclient/subscriber.hpp"
#include "libclient/transports/nats_subjects.hpp"
#include "tests/libclient/nats_feeds.hpp"

namespace trama::test {

// A publisher and subscribers at a server.
class Nats : public ::testing::Test {
 protected:
  // For what must come; a test that passes doesn't wait for it.
  static constexpr std::chrono::seconds kPatience{30};
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
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!condition() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
  // Without waiting for the server's word in between.
  static void publish_at_once(NatsPublisherThread& publisher, uint64_t from, uint64_t to) {
    publisher.run([=](NatsPublisher& p) {
      for (uint64_t seq = from; seq < to; ++seq) EXPECT_TRUE(p.publish(sample_window(seq)->envelope));
    });
  }
  static Subscriber subscribe(const NatsServer& server, StartKind start, uint64_t at, SubscribeOptions options = {}) {
    options.start = start;
    options.start_at = at;
    auto subscriber = Subscriber::open(server.url(), options);
    if (!subscriber) throw std::runtime_error(subscriber.error().text);
    await([&] { return subscriber->connected(); });
    return std::move(*subscriber);
  }
  // Opened before there is a run to follow, and listening: the server no longer answers that nobody does.
  static Subscriber subscribe_early(const NatsServer& server, const SubscribeOptions& options = {}) {
    auto subscriber = Subscriber::open(server.url(), options);
    if (!subscriber) throw std::runtime_error(subscriber.error().text);
    const StreamUrl url = parse_stream_url(server.url()).value();
    auto link = NatsLink::open(url, {}, true);
    if (!link) throw std::runtime_error(link.error().text);
    await([&] { return (*link)->connected(); });
    EXPECT_TRUE((*link)->subscribe((*link)->inbox() + ".>", 64, 4096));
    int heard = 0;
    await([&] {
      EXPECT_EQ((*link)->send(nats_note_subject(url, 1), std::span<const uint8_t>(), (*link)->inbox() + ".x"),
                NatsSent::done);
      EXPECT_TRUE((*link)->flush(10'000));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      bool nobody = false;
      while (const auto answer = (*link)->take()) nobody = nobody || answer->status == 503;
      heard = nobody ? 0 : heard + 1;
      return heard >= 5;
    });
    return std::move(*subscriber);
  }
  static void expect_window(Subscriber& subscriber, uint64_t seq, uint64_t missed = 0) {
    const Next next = subscriber.next(kPatience);
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

}  // namespace trama::test
