// trama.h: options, subscribers and errors, with publishers and folders as subscriber_test.cpp has them.
#include <gtest/gtest.h>
#include <poll.h>
#include <zmq.h>

#include <climits>
#include <thread>

#include "libclient/trama.h"
#include "tests/libclient/c_api_handles.hpp"
#include "tests/libclient/stream_feeds.hpp"

namespace trama {
namespace {

using test::expect_null_named;
using test::FolderFeed;
using test::next_window;
using test::Options;
using test::PublisherFeed;
using test::Stream;
using test::Window;
using testing::HasSubstr;

constexpr int64_t kLongMs = 20'000;  // for what must come; a test that passes doesn't wait for it

class CApi : public ::testing::Test {
 protected:
  std::string ipc() const { return "trama+ipc://" + (folder_ / "s").string(); }
  static void wait_for(const Stream& stream) {
    while (trama_connected(stream.get()) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // A folder's windows `first` and so on, that ends with the last one.
  static Stream read(const FolderFeed& feed, const Options& options) {
    trama_options_follow(options.get(), 0);
    return Stream(trama_open(feed.url().c_str(), options.get()));
  }

  const test::ScratchFolder folder_;
};

TEST_F(CApi, SaysItsVersion) { EXPECT_STREQ(trama_version(), TRAMA_VERSION); }

TEST_F(CApi, GivesWindowsInOrderAndTellsWhatIsMissed) {
  PublisherFeed feed(ipc());
  const Stream stream(trama_open(feed.url().c_str(), nullptr));
  ASSERT_NE(stream, nullptr) << trama_error_text();
  wait_for(stream);
  uint64_t seq = 0, missed = 0;
  for (const uint64_t lost : {0, 1, 3, 0}) {
    for (uint64_t i = 0; i < lost; ++i) feed.lose(seq++);
    feed.publish(seq);
    const Window window = next_window(stream, kLongMs);
    ASSERT_NE(window, nullptr);
    EXPECT_EQ(trama_window_seq(window.get()), seq++);
    EXPECT_EQ(trama_window_missed(window.get()), lost);
    EXPECT_EQ(trama_window_restarted(window.get()), 0);
    EXPECT_EQ(trama_count_missed(stream.get()), missed += lost);
  }
  EXPECT_EQ(trama_count_windows(stream.get()), 4u);
  EXPECT_EQ(trama_count_damaged(stream.get()), 0u);
  EXPECT_EQ(trama_count_sessions(stream.get()), 1u);
  feed.restart();
  feed.publish(0);
  const Window window = next_window(stream, kLongMs);
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(trama_window_restarted(window.get()), 1);
  EXPECT_EQ(trama_count_sessions(stream.get()), 2u);
}

TEST_F(CApi, TimesOutAndWaits) {
  PublisherFeed feed(ipc());
  const Stream stream(trama_open(feed.url().c_str(), nullptr));
  wait_for(stream);
  auto* window = reinterpret_cast<trama_window*>(1);
  EXPECT_EQ(trama_next(stream.get(), 0, &window), TRAMA_TIMEOUT);
  EXPECT_EQ(window, nullptr);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(trama_next(stream.get(), 50, &window), TRAMA_TIMEOUT);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(50));
  uint64_t seq = 0;
  for (const int64_t long_ms : {int64_t{-1}, INT64_MIN, INT64_MAX}) {
    std::jthread later([&feed, number = seq++] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      feed.publish(number);
    });
    EXPECT_EQ(trama_next(stream.get(), long_ms, &window), TRAMA_WINDOW);
    trama_window_free(window);
  }
}

TEST_F(CApi, TheDescriptorIsReadableWhileThereAreWindows) {
  PublisherFeed feed(ipc());
  const Stream stream(trama_open(feed.url().c_str(), nullptr));
  wait_for(stream);
  while (next_window(stream, 0)) continue;
  pollfd event{trama_descriptor(stream.get()), POLLIN, 0};
  EXPECT_EQ(poll(&event, 1, 0), 0);
  feed.publish(0);
  ASSERT_EQ(poll(&event, 1, kLongMs), 1);
  EXPECT_NE(next_window(stream, 0), nullptr);
}

TEST_F(CApi, BeginsWhereItIsWanted) {
  FolderFeed feed(folder_.path());
  for (uint64_t seq = 0; seq < 8; ++seq) feed.publish(seq);
  const auto first = [&](int set, const Options& options) {
    EXPECT_EQ(set, TRAMA_OK);
    const Window window = next_window(read(feed, options), kLongMs);
    return window ? trama_window_seq(window.get()) : UINT64_MAX;
  };
  const Options options;
  EXPECT_EQ(first(trama_options_start_number(options.get(), 3), options), 3u);
  EXPECT_EQ(first(trama_options_start_last(options.get(), 2), options), 6u);
  const int64_t time = test::sample_window(5)->envelope.last_ns;
  EXPECT_EQ(first(trama_options_start_time(options.get(), time), options), 5u);
  EXPECT_EQ(first(trama_options_start_time(options.get(), time + 1), options), 6u);
  EXPECT_EQ(first(trama_options_start_live(options.get()), options), UINT64_MAX);
  EXPECT_EQ(trama_options_start_time(options.get(), -1), TRAMA_E_ARGUMENT);
}

TEST_F(CApi, EndsOnceAndForAll) {
  FolderFeed feed(folder_.path());
  for (uint64_t seq = 0; seq < 3; ++seq) feed.publish(seq);
  const Options options;
  trama_options_start_number(options.get(), 5);  // never comes
  const Stream stream = read(feed, options);
  for (int i = 0; i < 3; ++i) {
    trama_window* window = nullptr;
    EXPECT_EQ(trama_next(stream.get(), kLongMs, &window), TRAMA_ENDED);
    EXPECT_EQ(window, nullptr);
  }
}

// The end is told by the publisher: what was lost behind the last window, and what arrived behind it.
TEST_F(CApi, TellsWhatIsMissedAtTheEnd) {
  StreamConfig config;
  test::PublisherThread publisher(config, parse_stream_url(ipc()).value());
  const Stream stream(trama_open(ipc().c_str(), nullptr));
  wait_for(stream);
  publisher.publish(test::sample_window(0)->envelope);
  ASSERT_NE(next_window(stream, kLongMs), nullptr);
  EXPECT_EQ(trama_missed_at_end(stream.get()), 0u);
  publisher.run([](StreamPublisher& to) {
    to.pass(1);
    to.pass(2);
  });
  Envelope tail = test::sample_window(3)->envelope;
  tail.seq = 3;
  tail.encoding = EnvelopeEncoding::tail;
  tail.matrix = {};
  tail.packets = tail.links = 0;
  tail.verdicts = {0, 2, 3, 4, 5, 6, 7, 8};
  publisher.publish(tail);
  std::jthread ending([&] { publisher.finish(); });
  trama_window* window = nullptr;
  EXPECT_EQ(trama_next(stream.get(), kLongMs, &window), TRAMA_ENDED);
  EXPECT_EQ(trama_missed_at_end(stream.get()), 2u);
  EXPECT_EQ(trama_count_missed(stream.get()), 2u);
  EXPECT_EQ(trama_next(stream.get(), 0, &window), TRAMA_ENDED);
  EXPECT_EQ(trama_missed_at_end(stream.get()), 2u) << "told, and kept";
  const uint64_t expected[] = {0, 2, 3, 4, 5, 6, 7, 8, 35};
  for (int verdict = TRAMA_COUNTED; verdict <= TRAMA_SEEN; ++verdict)
    EXPECT_EQ(trama_tail_verdict(stream.get(), verdict), expected[verdict]) << verdict;
}

TEST_F(CApi, RefusesWhatCanNotBeAndSaysWhy) {
  EXPECT_EQ(trama_open("gopher://host/x", nullptr), nullptr);
  EXPECT_THAT(trama_error_text(), HasSubstr("not the URL of a stream"));
  EXPECT_STRNE(trama_error_hint(), "");
  EXPECT_EQ(trama_open("file:///nonexistent/folder", nullptr), nullptr);
  EXPECT_THAT(trama_error_text(), HasSubstr("/nonexistent/folder"));
  const std::string url = "trama+tcp://127.0.0.1:1/x";
  const auto refused = [&](auto set, auto value, const char* why) {
    const Options options;
    EXPECT_EQ(set(options.get(), value), TRAMA_OK);
    EXPECT_EQ(trama_open(url.c_str(), options.get()), nullptr) << why;
    EXPECT_THAT(trama_error_text(), HasSubstr(why));
  };
  refused(trama_options_ahead, size_t{0}, "ahead");
  refused(trama_options_ahead, size_t{257}, "ahead");
  refused(trama_options_silence, 0.0, "silence");
  const Options nats;
  trama_options_nats_tls(nats.get(), "/nonexistent/ca.pem", nullptr, nullptr);
  EXPECT_EQ(trama_open("nats://127.0.0.1:1/x", nats.get()), nullptr);
  EXPECT_THAT(trama_error_text(), testing::AnyOf(HasSubstr("/nonexistent/ca.pem"), HasSubstr("has no NATS")));
  trama_options_nats_tls(nats.get(), nullptr, nullptr, nullptr);
  trama_options_nats_login(nats.get(), "/nonexistent/login");
  EXPECT_EQ(trama_open("nats://127.0.0.1:1/x", nats.get()), nullptr);
  EXPECT_THAT(trama_error_text(), testing::AnyOf(HasSubstr("/nonexistent/login"), HasSubstr("has no NATS")));
  trama_options_nats_credentials(nats.get(), "/nonexistent/credentials");
  EXPECT_EQ(trama_open("nats://127.0.0.1:1/x", nats.get()), nullptr);
  EXPECT_THAT(trama_error_text(), testing::AnyOf(HasSubstr("exclude each other"), HasSubstr("has no NATS")));
  // Another thread's errors are its own.
  const std::string here = trama_error_text();
  std::jthread([] { EXPECT_STREQ(trama_error_text(), ""); });
  EXPECT_EQ(trama_error_text(), here);
}

TEST_F(CApi, AnErrorOfTheStreamStays) {
  PublisherFeed feed("trama+tcp://127.0.0.1:0/site");
  const std::string url = feed.url();
  const Stream stream(trama_open((url.substr(0, url.rfind('/')) + "/another").c_str(), nullptr));
  ASSERT_NE(stream, nullptr);
  trama_window* window = nullptr;
  ASSERT_EQ(trama_next(stream.get(), kLongMs, &window), TRAMA_E_STREAM);
  EXPECT_THAT(trama_error_text(), HasSubstr("stream"));
  EXPECT_EQ(trama_next(stream.get(), 0, &window), TRAMA_E_STREAM);
}

// Options reach the subscriber, which does otherwise without them.
TEST_F(CApi, LargerWindowsThanWantedAreRefused) {
  PublisherFeed feed(ipc());
  feed.publish(0);
  const Options few_links, few_bytes;
  trama_options_start_number(few_links.get(), 0);
  trama_options_max_links(few_links.get(), test::sample_window(0)->envelope.links - 1);
  const Stream stream(trama_open(feed.url().c_str(), few_links.get()));
  for (int i = 0; i < 2000 && trama_count_damaged(stream.get()) == 0; ++i) EXPECT_EQ(next_window(stream, 10), nullptr);
  EXPECT_EQ(trama_count_damaged(stream.get()), 1u);

  trama_options_start_number(few_bytes.get(), 0);
  trama_options_max_bytes(few_bytes.get(), 300);
  trama_options_reconnect(few_bytes.get(), 0);
  const Stream shorter(trama_open(feed.url().c_str(), few_bytes.get()));
  trama_window* window = nullptr;
  EXPECT_EQ(trama_next(shorter.get(), kLongMs, &window), TRAMA_E_STREAM);
}

TEST_F(CApi, DropsTheOldestWhenTold) {
  test::PublisherThread publisher(StreamConfig{}, parse_stream_url(ipc()).value());
  const Options options;
  trama_options_ahead(options.get(), 2);
  trama_options_drop(options.get(), 1);
  const Stream stream(trama_open(ipc().c_str(), options.get()));
  wait_for(stream);
  for (uint64_t seq = 0; seq < 16; ++seq) publisher.publish(test::sample_window(seq)->envelope);
  for (int i = 0; i < 2000 && publisher.totals().sent < 16; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_EQ(publisher.totals().sent, 16u) << "taken, though nobody asks for them here";
  uint64_t seq = 0, missed = 0, windows = 0;
  while (seq != 15) {
    const Window window = next_window(stream, kLongMs);
    ASSERT_NE(window, nullptr);
    seq = trama_window_seq(window.get());
    missed += trama_window_missed(window.get());
    ++windows;
  }
  EXPECT_EQ(windows + missed, 16u);
  EXPECT_LE(windows, 4u);  // the two that waited, and what may still have been on its way
}

TEST_F(CApi, WaitsForThePublishersNextRunWhenTold) {
  auto publisher = std::make_unique<test::PublisherThread>(StreamConfig{}, parse_stream_url(ipc()).value());
  const Options options;
  trama_options_past_end(options.get(), 1);
  const Stream stream(trama_open(ipc().c_str(), options.get()));
  wait_for(stream);
  publisher->finish();
  trama_window* none = nullptr;
  EXPECT_EQ(trama_next(stream.get(), 100, &none), TRAMA_TIMEOUT);
  publisher = std::make_unique<test::PublisherThread>(StreamConfig{}, parse_stream_url(ipc()).value());
  publisher->publish(test::sample_window(0)->envelope);
  EXPECT_NE(next_window(stream, kLongMs), nullptr);
}

TEST_F(CApi, KeysLetIn) {
  char public_key[41], secret[41], own_public[41], own_secret[41];
  ASSERT_EQ(zmq_curve_keypair(public_key, secret), 0);
  ASSERT_EQ(zmq_curve_keypair(own_public, own_secret), 0);
  StreamConfig config;
  config.keys.secret = secret;
  config.keys.clients = {own_public};
  test::PublisherThread publisher(config, parse_stream_url("trama+tcp://127.0.0.1:0/site").value());
  publisher.publish(test::sample_window(0)->envelope);
  const Options options;
  trama_options_start_last(options.get(), 1);
  EXPECT_EQ(trama_options_keys(options.get(), public_key, own_secret), TRAMA_OK);
  EXPECT_NE(next_window(Stream(trama_open(publisher.url().text().c_str(), options.get())), kLongMs), nullptr);
}

TEST_F(CApi, NullIsAnErrorAndNoCrash) {
  trama_window* window = nullptr;
  const Options options;
  trama_options* const none = nullptr;
  expect_null_named("options", [&] { return trama_options_start_live(none) == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_start_number(none, 0) == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_start_last(none, 0) == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_start_time(none, 0) == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_ahead(none, 1) == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_drop(none, 1) == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_reconnect(none, 1) == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_past_end(none, 1) == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_follow(none, 1) == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_silence(none, 1) == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_max_bytes(none, 1) == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_max_links(none, 1) == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_keys(none, "", "") == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_nats_tls(none, "", "", "") == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_nats_credentials(none, "") == TRAMA_E_ARGUMENT; });
  expect_null_named("options", [&] { return trama_options_nats_login(none, "") == TRAMA_E_ARGUMENT; });
  expect_null_named("own_secret", [&] { return trama_options_keys(options.get(), "", nullptr) == TRAMA_E_ARGUMENT; });
  expect_null_named("publisher_public",
                    [&] { return trama_options_keys(options.get(), nullptr, "") == TRAMA_E_ARGUMENT; });
  expect_null_named("url", [&] { return trama_open(nullptr, options.get()) == nullptr; });
  expect_null_named("subscriber", [&] { return trama_next(nullptr, 0, &window) == TRAMA_E_ARGUMENT; });
  const Stream stream(trama_open(("file://" + folder_.path().string()).c_str(), nullptr));
  expect_null_named("window", [&] { return trama_next(stream.get(), 0, nullptr) == TRAMA_E_ARGUMENT; });
  expect_null_named("subscriber", [] { return trama_descriptor(nullptr) == -1; });
  expect_null_named("subscriber", [] { return trama_connected(nullptr) == 0; });
  expect_null_named("subscriber", [] { return trama_missed_at_end(nullptr) == 0; });
  expect_null_named("subscriber", [] { return trama_count_windows(nullptr) == 0; });
  expect_null_named("subscriber", [] { return trama_count_missed(nullptr) == 0; });
  expect_null_named("subscriber", [] { return trama_count_damaged(nullptr) == 0; });
  expect_null_named("subscriber", [] { return trama_count_sessions(nullptr) == 0; });
  expect_null_named("subscriber", [] { return trama_tail_verdict(nullptr, TRAMA_CUT) == 0; });
  trama_options_free(nullptr);
  trama_close(nullptr);
  trama_window_free(nullptr);
}

}  // namespace
}  // namespace trama
