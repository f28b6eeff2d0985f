#include <gmock/gmock.h>
#include <unistd.h>

#include "libclient/subscriber.hpp"
#include "libclient/transports/nats_link.hpp"
#include "modules/messages.hpp"
#include "modules/support/run_identity.hpp"
#include "modules/support/run_report.hpp"
#include "modules/support/run_start.hpp"
#include "modules/support/stream_listener.hpp"
#include "tests/modules/address_batches.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto kPublishWait = 20s;

class Publish : public ::testing::Test {
 protected:
  using Harness = StageHarness<SerializedMatrix, Nothing>;

  // Starts it, and gives the URL that it says it publishes at.
  static std::string begin(Harness& harness) {
    harness.services().get<RunIdentity>()->graph = "feed";
    for (const Diagnostic& wrong : harness.start()) ADD_FAILURE() << wrong.text;
    const std::string words = "publishing at ";
    for (const auto until = std::chrono::steady_clock::now() + kPublishWait;
         std::chrono::steady_clock::now() < until;) {
      for (const Diagnostic& message : harness.services().get<RunReport>()->take_messages())
        if (message.text.starts_with(words)) return message.text.substr(words.size());
      usleep(1000);
    }
    ADD_FAILURE() << "it says no URL";
    return "";
  }
  // A window of one link with so many packets; 0: the tail.
  static void push(Harness& harness, uint32_t packets, MatrixEncoding encoding = MatrixEncoding::blob) {
    SerializedMatrix* window = harness.input();
    if (window == nullptr) return;
    const uint32_t row[] = {7}, start[] = {0, 1}, column[] = {9}, count[] = {packets};
    const HyperCsr matrix{row, start, column, count};
    const std::span<uint8_t> out(window->blob, window->capacity);
    window->tally = {};
    window->tally[Verdict::counted] = packets;
    window->tally[Verdict::cut] = 2;
    window->tally.dropped_nic = 5;
    window->first_ns = 1'700'000'000'000'001'000;
    window->last_ns = 1'700'000'000'000'002'000;
    window->closed_by = ClosedBy::time;
    window->key = test::some_key();
    window->judged = false;
    window->packets = packets;
    window->links = 1;
    window->skip = packets == 0;
    window->encoding = encoding;
    window->bytes = packets == 0                          ? 0
                    : encoding == MatrixEncoding::compact ? write_compact(matrix, false, out)
                                                          : BlobWriter(16).write(matrix, out);
    harness.push(window);
  }
  // One that is connected.
  static Subscriber subscribe(const std::string& url, SubscribeOptions options = {}) {
    auto subscriber = Subscriber::open(url, options);
    if (!subscriber) throw std::runtime_error(subscriber.error().text);
    while (!subscriber->connected()) usleep(1000);
    return std::move(*subscriber);
  }
  static Next expect_window(Subscriber& subscriber, uint64_t seq, uint64_t missed) {
    Next next = subscriber.next(kPublishWait);
    EXPECT_EQ(next.outcome, Outcome::window) << next.error.text;
    if (next.outcome != Outcome::window) return next;
    EXPECT_EQ(next.window->info().seq, seq);
    EXPECT_EQ(next.window->missed, missed);
    return next;
  }
  std::string ipc() const { return "url = \"trama+ipc://" + (folder_ / "socket").string() + "\"\n"; }
  const test::ScratchFolder folder_;
};

TEST_F(Publish, WindowsReachASubscriberWithAllThatIsKnownOfThem) {
  Harness harness("publish", "url = \"trama+tcp://127.0.0.1:0/site\"\nsensor = \"roof\"");
  Subscriber subscriber = subscribe(begin(harness));
  push(harness, 3);
  push(harness, 200, MatrixEncoding::compact);
  push(harness, 0);
  harness.finish();
  const Next first = expect_window(subscriber, 0, 0);
  ASSERT_TRUE(first.window);
  const WindowInfo& info = first.window->info();
  EXPECT_EQ(info.window_packets, 256u);
  EXPECT_EQ(info.packets, 3u);
  EXPECT_EQ(info.links, 1u);
  EXPECT_EQ(info.first_ns, 1'700'000'000'000'001'000);
  EXPECT_EQ(info.last_ns, 1'700'000'000'000'002'000);
  EXPECT_EQ(info.closed_by, ClosedBy::time);
  EXPECT_EQ(info.verdicts.cut, 2u);
  EXPECT_EQ(info.dropped.nic, 5u);
  EXPECT_EQ(info.sensor, "roof");
  EXPECT_EQ(info.stream, "site");
  EXPECT_EQ(info.graph, "feed");
  EXPECT_EQ(info.anonymization, "crypto-pan-aes128");
  EXPECT_EQ(info.key, "0123456789abcdef");
  EXPECT_EQ(info.exclusions, "none");
  EXPECT_EQ(info.encoding, EnvelopeEncoding::blob_lz4);
  EXPECT_EQ(first.window->matrix().row[0], 7u);
  EXPECT_EQ(first.window->matrix().count[0], 3u);
  const Next second = expect_window(subscriber, 1, 0);
  ASSERT_TRUE(second.window);
  EXPECT_EQ(second.window->info().encoding, EnvelopeEncoding::compact);
  EXPECT_EQ(second.window->matrix().count[0], 200u);
  const Next last = subscriber.next(kPublishWait);
  EXPECT_EQ(last.outcome, Outcome::ended);
  EXPECT_EQ(last.missed, 0u);
  EXPECT_EQ(subscriber.tail().cut, 2u);
  EXPECT_EQ(subscriber.next(0ms).outcome, Outcome::ended);
}

TEST_F(Publish, AWindowThatCanNotBeSentIsToldAsMissed) {
  Harness harness("publish", ipc() + "max_bytes = 1024");
  Subscriber subscriber = subscribe(begin(harness));
  push(harness, 1);
  SerializedMatrix* window = harness.input();  // could not be serialized
  window->skip = false;
  window->bytes = 0;
  harness.push(window);
  push(harness, 1);
  window = harness.input();  // is too long
  window->key = test::some_key();
  window->skip = false;
  window->bytes = 2000;
  harness.push(window);
  harness.finish();
  expect_window(subscriber, 0, 0);
  expect_window(subscriber, 2, 1);
  const Next end = subscriber.next(kPublishWait);
  EXPECT_EQ(end.outcome, Outcome::ended);
  EXPECT_EQ(end.missed, 1u);
  const auto messages = harness.services().get<RunReport>()->take_messages();
  ASSERT_FALSE(messages.empty());
  EXPECT_THAT(messages[0].text, HasSubstr("max_bytes"));
  const auto outlets = harness.services().get<RunReport>()->outlets();
  ASSERT_EQ(outlets.size(), 1u);
  EXPECT_EQ(outlets[0].counts.too_long, 1u);
}

// One that takes nothing, and one that takes all: the stage goes on, and each of them knows what it has.
TEST_F(Publish, ASlowSubscriberLosesItsOwnWindowsOnly) {
  Harness harness("publish", ipc() + "queue = 4\nlinger = 20");
  const std::string url = begin(harness);
  SubscribeOptions options;
  options.ahead = 3;
  Subscriber slow = subscribe(url, options), quick = subscribe(url);
  constexpr uint32_t kWindows = 50;
  uint64_t taken = 0, missed = 0;
  for (uint32_t i = 0; i < kWindows; ++i) {
    push(harness, 1 + i % 100);
    expect_window(quick, i, 0);
  }
  std::thread reader([&] {
    for (;;) {
      const Next next = slow.next(kPublishWait);
      missed += next.window ? next.window->missed : next.missed;
      if (next.outcome != Outcome::window) break;
      ++taken;
    }
  });
  harness.finish();
  reader.join();
  EXPECT_EQ(taken + missed, kWindows);
  EXPECT_EQ(missed, kWindows - 3 - 4);  // what it had room for, and what the publisher had kept
  const auto outlets = harness.services().get<RunReport>()->outlets();
  ASSERT_EQ(outlets.size(), 1u);
  EXPECT_EQ(outlets[0].url, url);
  EXPECT_EQ(outlets[0].counts.subscribed, 2u);
  EXPECT_EQ(outlets[0].counts.sent, kWindows + 3 + 4);
  EXPECT_EQ(outlets[0].counts.lost, missed);
}

TEST_F(Publish, NobodyIsWaitedForWithoutSubscribers) {
  Harness harness("publish", ipc());
  begin(harness);
  for (uint32_t i = 0; i < 100; ++i) push(harness, 1);
  harness.finish();
}

// Nobody is there, and nobody has to be: the run goes on, and it is said how it ended.
TEST_F(Publish, ANatsServerThatIsNotThereHoldsNobodyUp) {
  if (!nats_available()) GTEST_SKIP() << "no NATS here";
  Harness harness("publish", "url = \"nats://127.0.0.1:1/trama.roof\"\nqueue = 4\nlinger = 0");
  for (uint32_t i = 0; i < 100; ++i) {
    push(harness, 1);
    usleep(1000);  // for the thread behind the stage
  }
  harness.finish();
  std::string said;
  for (const Diagnostic& message : harness.services().get<RunReport>()->take_messages()) said += message.text + "\n";
  EXPECT_THAT(said, HasSubstr("nats://127.0.0.1:1/trama.roof: 0 windows stored; of "));
}

// The threads of the socket block all signals: they must not be there before the command has given up its privileges.
TEST_F(Publish, BeginsWithTheRun) {
  Harness harness("publish", ipc());
  const auto start = harness.services().get<RunStart>();
  start->hold();
  EXPECT_TRUE(harness.start().empty());
  auto subscriber = Subscriber::open("trama+ipc://" + (folder_ / "socket").string());
  EXPECT_EQ(subscriber->next(100ms).outcome, Outcome::timeout);
  EXPECT_FALSE(subscriber->connected());
  start->begin();
  while (!subscriber->connected()) usleep(1000);
  push(harness, 1);
  expect_window(*subscriber, 0, 0);
}

TEST_F(Publish, ASocketThatWasLeftBehindIsTakenOver) {
  const auto url = parse_stream_url("trama+ipc://" + (folder_ / "socket").string()).value();
  {
    const auto killed = StreamListener::open(url);
    ASSERT_TRUE(killed);
    EXPECT_FALSE(StreamListener::open(url));  // while it listens
  }
  EXPECT_TRUE(StreamListener::open(url));
  test::write_file(folder_ / "file", std::string("precious"));
  EXPECT_FALSE(StreamListener::open(parse_stream_url("trama+ipc://" + (folder_ / "file").string()).value()));
  EXPECT_EQ(test::read_text(folder_ / "file"), "precious");
}

TEST_F(Publish, RefusesWhatCanNotBe) {
  const struct {
    std::string parameters;
    const char *what, *hint = "";
  } cases[] = {
      {"", "no URL"},
      {"url = \"http://127.0.0.1:1\"", "not the URL"},
      {"url = \"file:///tmp\"", "archive"},
      {"url = \"trama+tcp://0.0.0.0:0/x\"", "other machines"},
      {"url = \"trama+tcp://0.0.0.0:0/x\"\nserver_key_file = \"k\"", "go together"},
      {"url = \"trama+tcp://127.0.0.1:0\"\nserver_key_file = \"/nonexistent\"\nclients_file = \"/nonexistent\"",
       "/nonexistent"},
      {"url = \"trama+ipc:///nonexistent/folder/socket\"", "can't publish", "mkdir -p /nonexistent/folder"},
      {"url = \"trama+tcp://192.0.2.1:0/x\"\ninsecure = true", "can't publish", "no interface of this machine"},
      {"url = \"trama+ipc://x\"\nqueue = 0", "queue"},
      {"url = \"trama+ipc://x\"\nlogin_file = \"x\"", "login_file belongs to nats"},
      {"url = \"nats://192.0.2.1/trama.roof\"", "not encrypted"},
      {"url = \"nats://127.0.0.1/trama.*\"", "subject"},
      {"url = \"nats://127.0.0.1/trama.roof\"\nreplay = true", "not for a NATS server"},
      {"url = \"nats+tls://192.0.2.1/trama.roof\"\nca_file = \"/nonexistent\"", "/nonexistent"},
  };
  for (const auto& [parameters, what, hint] : cases) {
    SCOPED_TRACE(parameters);
    const Diagnostics wrong = Harness("publish", parameters).start();
    ASSERT_FALSE(wrong.empty());
    EXPECT_THAT(wrong[0].text, HasSubstr(what));
    EXPECT_THAT(wrong[0].hint, HasSubstr(hint));
  }
  Harness open("publish", "url = \"trama+tcp://0.0.0.0:0/x\"\ninsecure = true");
  EXPECT_TRUE(open.start().empty());
}

}  // namespace
}  // namespace trama
