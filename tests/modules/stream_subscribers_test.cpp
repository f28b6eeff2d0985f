// What the archive is asked for on behalf of subscribers, and what it needn't answer any more.
#include "modules/support/stream_subscribers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "modules/support/stream_publisher.hpp"
#include "tests/libclient/stream_cases.hpp"

namespace trama {
namespace {

// Takes everything, except from those who are gone.
struct Peers final : StreamSender {
  Sent answer(const std::string& peer) const { return gone.contains(peer) ? Sent::gone : Sent::done; }
  Sent send(const std::string& peer, const StreamFrame&) override { return answer(peer); }
  Sent send(const std::string& peer, const StreamNote&) override { return answer(peer); }
  std::set<std::string> gone;
};

struct Questions final : StreamArchive {
  bool ask(ReplayRequest request) override { return open.insert(request.ticket).second; }
  void withdraw(uint64_t ticket) override { open.erase(ticket); }
  std::set<uint64_t> open;
};

class StreamReplayRequests : public ::testing::Test {
 protected:
  StreamReplayRequests() {
    for (uint64_t seq = 0; seq < 10; ++seq)
      history_.add({seq, 1, make_frame(test::sample_window(seq)->envelope, 1 << 20)});
    subscribers_.begin_run(77);
  }
  void say(const std::string& peer, StreamNote note) {
    std::array<uint8_t, kMostNoteBytes> bytes;
    const size_t size = write_note(note, bytes);
    subscribers_.hear(peer, {bytes.data(), size}, 0);
  }
  // From the first window on, which has left the history.
  void subscribe(const std::string& peer) {
    StreamNote note;
    note.kind = NoteKind::subscribe;
    note.start = StartKind::number;
    note.allowed = 4;
    say(peer, note);
  }

  StreamHistory history_{4};
  Peers peers_;
  Questions questions_;
  StreamSubscribers subscribers_{{}, history_, peers_, &questions_};
};

TEST_F(StreamReplayRequests, ThoseWhoLeaveTakeTheirsWithThem) {
  StreamNote leave;
  leave.kind = NoteKind::leave;
  for (int i = 0; i < 1000; ++i) {
    const std::string peer = "peer " + std::to_string(i);
    subscribe(peer);
    EXPECT_EQ(questions_.open.size(), 1u);
    say(peer, leave);
    EXPECT_EQ(questions_.open.size(), 0u);
  }
}

TEST_F(StreamReplayRequests, ThoseWhoVanishDoToo) {
  for (const char* peer : {"a", "b"}) subscribe(peer);
  EXPECT_EQ(questions_.open.size(), 2u);
  peers_.gone = {"a"};
  subscribers_.beat(1);
  EXPECT_EQ(questions_.open.size(), 1u);
  EXPECT_EQ(subscribers_.count(), 1u);
  subscribers_.leave_run();
  subscribers_.begin_run(78);  // which has nothing of the run before
  EXPECT_EQ(questions_.open.size(), 0u);
}

}  // namespace
}  // namespace trama
