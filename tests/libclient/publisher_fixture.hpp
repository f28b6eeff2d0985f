// What the tests of publishers share.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "libclient/subscriber.hpp"
#include "tests/libclient/stream_feeds.hpp"

namespace trama::test {

class Publisher : public ::testing::Test {
 protected:
  // For what must come; a test that passes doesn't wait for it.
  static constexpr std::chrono::seconds kPatience{20};

  static StreamConfig config(size_t queue = 16) {
    StreamConfig config;
    config.queue = queue;
    config.beat_ns = 50'000'000;
    return config;
  }
  static StreamUrl any_port() { return parse_stream_url("trama+tcp://127.0.0.1:0/site").value(); }
  static void await(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!condition() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
  static Account take_all(Subscriber& subscriber, std::chrono::milliseconds timeout = kPatience,
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

}  // namespace trama::test
