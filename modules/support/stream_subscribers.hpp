// Who listens to a stream, and how far each of them is: decides what is sent to whom, and loses what a slow one can't
// take. Knows nothing of sockets and clocks.
//
// Every subscriber has a place in the history, and says how many windows it has room for. It is sent windows from its
// place on, as many as it has room for. One whose place has fallen out of the history gets them from the archive, one
// at a time, until it has caught up. What is in neither is lost to it alone, and its next window's number says which.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "libclient/formats/stream_note.hpp"
#include "modules/support/stream_history.hpp"

namespace trama {

enum class Sent {
  done,
  later,  // no room on the way to it now
  gone,   // it isn't connected any more
};

// The way to subscribers. A peer is what the socket calls a connection.
class StreamSender {
 public:
  virtual ~StreamSender() = default;
  virtual Sent send(const std::string& peer, const StreamFrame& frame) = 0;
  virtual Sent send(const std::string& peer, const StreamNote& note) = 0;
};

// The first window in [from, below) that has packets at `time_ns` or later is wanted by somebody.
struct ReplayRequest {
  std::string peer;
  uint64_t ticket = 0;  // of this request
  uint64_t from = 0, below = 0;
  int64_t time_ns = INT64_MIN;
};

struct ReplayAnswer {
  std::string peer;
  uint64_t ticket = 0;
  uint64_t below = 0;                // as asked
  std::optional<KeptWindow> window;  // nothing: none of them can be had
};

// Windows that are in the history no more. Answers come later, to StreamSubscribers::replay.
class StreamArchive {
 public:
  virtual ~StreamArchive() = default;
  // False: too much is being asked, and this will have to be again.
  virtual bool ask(ReplayRequest request) = 0;
  // Nobody waits for the answer to this any more; it may come all the same.
  virtual void withdraw(uint64_t ticket) = 0;
};

struct StreamLimits {
  std::string stream;       // its name; a subscriber may leave it out
  size_t subscribers = 64;  // the most at a time
  size_t ahead = 256;       // the most windows on their way to one of them, whatever it says it has room for
  int64_t patience_ns = 10'000'000'000;  // one that says nothing for so long is forgotten
};

struct StreamTotals {
  uint64_t sent = 0;          // windows, to all subscribers together
  uint64_t replayed = 0;      // of these, from the archive
  uint64_t lost = 0;          // windows that slow ones lost
  uint64_t not_replayed = 0;  // that had left the history, and no archive could give
  uint64_t joined = 0;        // subscribers, from the beginning
  uint64_t refused = 0;       // that wanted to subscribe
  uint64_t nonsense = 0;      // messages that were no notes
};

// One thread. Times are of any clock that doesn't go backwards.
class StreamSubscribers {
 public:
  // Without an archive what has left the history is lost.
  StreamSubscribers(StreamLimits limits, const StreamHistory& history, StreamSender& sender, StreamArchive* archive);

  // What is in the history from now on is of this run, which is not 0. Before the first run nobody is answered; those
  // who followed the run before go on with the first window of this one.
  void begin_run(uint64_t run);
  // Before the history forgets the run: those who haven't got all of it have lost the rest, and are told.
  void leave_run();

  void hear(const std::string& peer, std::span<const uint8_t> bytes, int64_t now_ns);
  // What the archive has found.
  void replay(const ReplayAnswer& answer);
  // Sends what has come since, as far as there is room.
  void advance();
  // Now and then: tells everybody where the stream is, and forgets those who have fallen silent.
  void beat(int64_t now_ns);
  // No more windows come. Whoever has got all of them is told, now or later, and leaves when it has read that.
  void end();

  size_t count() const { return subscribers_.size(); }
  const StreamTotals& totals() const { return totals_; }

 private:
  struct Subscriber {
    StreamNote wanted;               // where it wants to begin; without its text
    bool begun = false;              // it has been told where that is
    uint64_t place = 0;              // number of the next window for it
    uint64_t sent = 0, allowed = 0;  // windows since it began
    int64_t heard_ns = 0;
    uint64_t ticket = 0;  // of what the archive was asked for it; 0: nothing
    bool told_end = false;
  };

  void subscribe(const std::string& peer, const StreamNote& note, int64_t now_ns);
  void refuse(const std::string& peer, Refusal reason, std::string_view text);
  Sent start(const std::string& peer, Subscriber& subscriber);
  bool search(const std::string& peer, Subscriber& subscriber);
  Sent begin(const std::string& peer, Subscriber& subscriber);
  uint64_t place_for(const StreamNote& note) const;
  Sent advance(const std::string& peer, Subscriber& subscriber);
  Sent send(const std::string& peer, Subscriber& subscriber, const KeptWindow& window);
  // What lies before that number it doesn't get: they are counted there.
  static void go_on_from(Subscriber& subscriber, uint64_t seq, uint64_t& count);
  void ask(const std::string& peer, Subscriber& subscriber, uint64_t from, int64_t time_ns = INT64_MIN);
  void withdraw(Subscriber& subscriber);
  using Known = std::map<std::string, Subscriber>::iterator;
  Known forget(Known known);
  Sent tell(const std::string& peer, const Subscriber& subscriber, NoteKind kind);
  template <class Gone>
  void forget_if(Gone gone);

  const StreamLimits limits_;
  const StreamHistory& history_;
  StreamSender& sender_;
  StreamArchive* const archive_;
  uint64_t run_ = 0;
  uint64_t tickets_ = 0;
  std::map<std::string, Subscriber> subscribers_;
  StreamTotals totals_;
  bool ended_ = false;
};

}  // namespace trama
