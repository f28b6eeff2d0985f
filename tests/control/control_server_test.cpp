// Hostile and careless clients. Nothing here depends on how fast the machine is: limits of time are either far away or
// waited for.
#include "control/control_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "control/control_protocol.hpp"
#include "control/control_socket.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

using testing::HasSubstr;

constexpr int kNever = 3'600'000;

class Connection {
 public:
  explicit Connection(const std::string& path) : descriptor_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = socket_address(path);
    const timeval patience{60, 0};
    setsockopt(descriptor_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(connect(descriptor_.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
  }
  // False: the server takes nothing more.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t gone = ::send(descriptor_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (gone < 0) return false;
      bytes.remove_prefix(static_cast<size_t>(gone));
    }
    return true;
  }
  // As much as goes without waiting.
  size_t send_now(std::string_view bytes) const {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t gone =
          ::send(descriptor_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (gone < 0) break;
      sent += static_cast<size_t>(gone);
    }
    return sent;
  }
  // Up to so many bytes of an answer; 0 at the end.
  size_t take(size_t most) const {
    std::string piece(most, 0);
    return static_cast<size_t>(std::max<ssize_t>(0, recv(descriptor_.get(), piece.data(), most, 0)));
  }
  void end_of_requests() const { shutdown(descriptor_.get(), SHUT_WR); }
  // A line without its end; nothing when the server has closed.
  std::optional<std::string> line() {
    for (;;) {
      if (const size_t end = received_.find('\n'); end != std::string::npos) {
        const std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
      }
      char piece[4096];
      const ssize_t got = recv(descriptor_.get(), piece, sizeof piece, 0);
      if (got < 0 && errno == EAGAIN) ADD_FAILURE() << "no answer";
      if (got <= 0) return std::nullopt;
      received_.append(piece, static_cast<size_t>(got));
    }
  }
  bool closed() { return !line(); }

 private:
  FileDescriptor descriptor_;
  std::string received_;
};

// Answers with the request, in brackets.
std::string bracketed(std::string_view request) { return "<" + std::string(request) + ">\n"; }

class ControlServerTest : public testing::Test {
 protected:
  void start(ControlServer::Answer answer = bracketed,
             ControlServer::Limits limits = {.clients = 64, .stall_ms = kNever, .idle_ms = kNever}) {
    auto socket = ControlSocket::open(folder_ / "a.sock");
    ASSERT_TRUE(socket) << socket.error().text;
    socket_.emplace(std::move(*socket));
    auto server = ControlServer::start(socket_->descriptor(), std::move(answer), limits);
    ASSERT_TRUE(server);
    server_ = std::move(*server);
  }
  Connection connect() const { return Connection(folder_ / "a.sock"); }
  void expect_service() {
    Connection client = connect();
    ASSERT_TRUE(client.send("still there?\n"));
    EXPECT_EQ(client.line(), "<still there?>");
  }

  test::ScratchFolder folder_;
  std::optional<ControlSocket> socket_;
  std::unique_ptr<ControlServer> server_;
};

TEST_F(ControlServerTest, AnswersLinesInTheirOrderHoweverTheyArrive) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  start();
  std::string all;
  std::vector<std::string> expected;
  for (int i = 0; i < 200; ++i) {
    const std::string request(random() % 300, static_cast<char>('a' + i % 26));
    all += request + "\n";
    expected.push_back("<" + request + ">");
  }
  Connection client = connect();
  std::thread writer([&] {
    std::mt19937 cut(seed);
    for (size_t at = 0; at < all.size();) {
      const size_t length = std::min<size_t>(1 + cut() % 700, all.size() - at);
      client.send(std::string_view(all).substr(at, length));
      at += length;
    }
  });
  for (const std::string& answer : expected) ASSERT_EQ(client.line(), answer);
  writer.join();
}

// One has asked a hundred things at once; what another one asks during the first answer comes next.
TEST_F(ControlServerTest, WhoAsksMuchHoldsUpNobody) {
  std::atomic<bool> asked{false}, first_is_answered{false};
  std::atomic<int> answered{0};
  std::atomic<int> before_the_other{-1};
  start([&](std::string_view request) {
    if (request == "much") {
      if (answered.fetch_add(1) == 0) {
        first_is_answered = true;
        first_is_answered.notify_all();
        asked.wait(false);
      }
    } else if (request == "one") {
      before_the_other = answered.load();
    }
    return bracketed(request);
  });
  Connection other = connect(), greedy = connect();
  other.send("here\n");
  EXPECT_EQ(other.line(), "<here>");
  std::string hundred;
  for (int i = 0; i < 100; ++i) hundred += "much\n";
  greedy.send(hundred);
  first_is_answered.wait(false);
  other.send("one\n");
  asked = true;
  asked.notify_all();
  EXPECT_EQ(other.line(), "<one>");
  for (int i = 0; i < 100; ++i) ASSERT_EQ(greedy.line(), "<much>");
  EXPECT_LE(before_the_other, 2);
}

TEST_F(ControlServerTest, ARequestMayEndWithTheConnection) {
  start();
  Connection client = connect();
  client.send("one\ntwo");
  client.end_of_requests();
  EXPECT_EQ(client.line(), "<one>");
  EXPECT_EQ(client.line(), "<two>");
  EXPECT_TRUE(client.closed());
  Connection silent = connect();
  silent.end_of_requests();
  EXPECT_TRUE(silent.closed());
}

TEST_F(ControlServerTest, TheLongestLineIsTakenALongerOneRefused) {
  start();
  Connection client = connect();
  const std::string longest(kMaxRequestBytes, 'x');
  ASSERT_TRUE(client.send(longest + "\n"));
  EXPECT_EQ(client.line(), "<" + longest + ">");
  client.send(longest + "x\nnext\n");
  const auto refused = client.line();
  ASSERT_TRUE(refused);
  EXPECT_THAT(*refused, HasSubstr("at most 65536 bytes"));
  EXPECT_TRUE(client.closed());
  expect_service();
}

TEST_F(ControlServerTest, ALineWithoutEndCostsNoMoreThanTheLongest) {
  start();
  Connection client = connect();
  // Far more than buffers hold: that it is refused shows that it isn't gathered.
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 64 && client.send(piece); ++i) {
  }
  const auto refused = client.line();
  EXPECT_THAT(refused.value_or("at most 65536 bytes"), HasSubstr("at most 65536 bytes"));
  expect_service();
}

TEST_F(ControlServerTest, AThousandConnections) {
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  constexpr size_t kMany = 1000;
  if (descriptors.rlim_cur < 2 * kMany) {
    descriptors.rlim_cur = std::min<rlim_t>(descriptors.rlim_max, 2 * kMany + 100);
    setrlimit(RLIMIT_NOFILE, &descriptors);
  }
  if (descriptors.rlim_cur < kMany + 200) GTEST_SKIP() << "this process may not have so many files open";
  start();
  std::vector<Connection> first;
  for (int i = 0; i < 64; ++i) {
    first.push_back(connect());
    ASSERT_TRUE(first.back().send("x\n"));
    ASSERT_EQ(first.back().line(), "<x>");
  }
  std::vector<Connection> others;
  for (size_t i = 0; i < kMany - 64; ++i) others.push_back(connect());
  for (Connection& other : others) {
    const auto busy = other.line();
    ASSERT_TRUE(busy);
    EXPECT_THAT(*busy, HasSubstr("busy"));
    EXPECT_TRUE(nlohmann::json::parse(*busy).is_object());
    EXPECT_TRUE(other.closed());
  }
  for (Connection& client : first) {
    ASSERT_TRUE(client.send("y\n"));
    EXPECT_EQ(client.line(), "<y>");
  }
  first.clear();
  // The server learns of their end in its own time.
  for (int i = 0; i < 1000; ++i) {
    Connection client = connect();
    client.send("z\n");
    if (client.line() == "<z>") return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "nobody is let in any more";
}

TEST_F(ControlServerTest, WhoTakesNoAnswersHoldsUpNobodyAndIsNotReadFrom) {
  std::atomic<int> answered{0};
  start([&](std::string_view) {
    ++answered;
    return std::string(100'000, 'a') + "\n";
  });
  Connection greedy = connect();
  std::string requests;
  for (int i = 0; i < 200'000; ++i) requests += "more\n";
  greedy.send_now(requests);
  Connection polite = connect();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(polite.send("x\n"));
    EXPECT_EQ(polite.line().value_or("").size(), 100'000U);
  }
  EXPECT_LT(answered, 1000) << "answers are made for somebody who doesn't take them";
  server_.reset();  // ends although an answer is under way
}

TEST_F(ControlServerTest, WhileAnAnswerIsTakenSlowlyNothingMoreIsRead) {
  constexpr size_t kAnswer = 32 << 20, kPiece = 64 << 10;
  start([](std::string_view) { return std::string(kAnswer, 'a') + "\n"; });
  const Connection client = connect();
  ASSERT_TRUE(client.send("x\n"));
  const std::string more(kPiece, '\n');
  size_t sent = 0;
  for (size_t taken = 0; taken < kAnswer - kPiece;) {
    sent += client.send_now(more);
    const size_t got = client.take(kPiece);
    ASSERT_GT(got, 0U);
    taken += got;
  }
  EXPECT_LT(sent, 1U << 20) << "more than the socket's own buffer";
}

TEST_F(ControlServerTest, WhoStallsIsClosed) {
  start(bracketed, {.clients = 64, .stall_ms = 30, .idle_ms = kNever});
  Connection half = connect();
  ASSERT_TRUE(half.send("half a requ"));
  EXPECT_TRUE(half.closed());
  Connection idle = connect();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_TRUE(idle.send("x\n"));
  EXPECT_EQ(idle.line(), "<x>") << "who asks nothing doesn't stall";
}

TEST_F(ControlServerTest, ARequestHasToBeWholeInTimeHoweverItDripsIn) {
  start(bracketed, {.clients = 64, .stall_ms = 1000, .idle_ms = kNever});
  const Connection dripping = connect();
  bool open = true;
  for (int i = 0; open && i < 2000; ++i) {
    open = dripping.send("x");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(open);
}

TEST_F(ControlServerTest, WhoIsSilentForLongIsClosed) {
  start(bracketed, {.clients = 64, .stall_ms = kNever, .idle_ms = 30});
  Connection silent = connect();
  EXPECT_TRUE(silent.closed());
}

TEST_F(ControlServerTest, AnAnswerThatCannotBeMadeEndsNothingButTheConnection) {
  start([](std::string_view request) -> std::string {
    if (request == "too much") throw std::bad_alloc();
    return bracketed(request);
  });
  Connection client = connect();
  client.send("too much\n");
  EXPECT_TRUE(client.closed());
  expect_service();
}

TEST_F(ControlServerTest, ClientsThatVanishAtAnyMoment) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  start();
  for (int i = 0; i < 300; ++i) {
    Connection client = connect();
    const std::string request = std::string(random() % 3000, 'x') + "\n";
    client.send_now(std::string_view(request).substr(0, random() % (request.size() + 1)));
    if (random() % 4 == 0) client.end_of_requests();
    if (random() % 4 == 0 && client.send("a\nb\nc\n")) client.line();
  }
  expect_service();
}

TEST_F(ControlServerTest, EndsWithClientsConnected) {
  start();
  Connection idle = connect(), half = connect();
  idle.send("x\n");
  half.send("x\nhalf");
  EXPECT_EQ(idle.line(), "<x>");
  EXPECT_EQ(half.line(), "<x>");
  server_.reset();
  EXPECT_TRUE(idle.closed());
  EXPECT_TRUE(half.closed());
}

}  // namespace
}  // namespace trama
