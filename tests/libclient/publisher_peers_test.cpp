// Connections to a publisher that are lost or damaged, and peers that make no sense.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zmq.hpp>

#include "tests/libclient/byte_proxy.hpp"
#include "tests/libclient/publisher_fixture.hpp"
#include "tests/support/long_tests.hpp"

namespace trama {
namespace {

using namespace std::chrono_literals;
using test::Publisher;
using test::PublisherThread;
using test::sample_window;

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
  EXPECT_EQ(take_all(subscriber, kPatience, 1).taken, 1u);
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
  EXPECT_EQ(take_all(subscriber, kPatience, 3).taken, 3u);
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
    const Account account = take_all(*subscriber, kPatience, 2);
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
  const Account account = take_all(subscriber, kPatience, 1);
  EXPECT_EQ(account.last, 1u);
  EXPECT_EQ(account.missed, 1u);
}

}  // namespace
}  // namespace trama
