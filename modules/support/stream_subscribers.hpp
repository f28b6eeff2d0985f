// Who listens to a stream, and how far each of them is: decides what is sent to whom, and loses what a slow one can't
// take. Knows nothing of sockets and clocks.
//
// Every subscriber has a place in the history, and says how many windows it has room for. It is sent windows from its
// place on, as many as it has room for. One that is so slow that its place falls out of the history goes on with the
// oldest window that is left: it alone has lost those between, and its next window's number says which.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
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

struct StreamLimits {
  std::string stream;       // its name; a subscriber may leave it out
  size_t subscribers = 64;  // the most at a time
  size_t ahead = 256;       // the most windows on their way to one of them, whatever it says it has room for
  int64_t patience_ns = 10'000'000'000;  // one that says nothing for so long is forgotten
};

struct StreamTotals {
  uint64_t sent = 0;      // windows, to all subscribers together
  uint64_t lost = 0;      // windows that slow ones lost
  uint64_t joined = 0;    // subscribers, from the beginning
  uint64_t refused = 0;   // that wanted to subscribe
  uint64_t nonsense = 0;  // messages that were no notes
};

// One thread. Times are of any clock that doesn't go backwards.
class StreamSubscribers {
 public:
  // `run` is not 0.
  StreamSubscribers(StreamLimits limits, uint64_t run, const StreamHistory& history, StreamSender& sender);

  void hear(const std::string& peer, std::span<const uint8_t> bytes, int64_t now_ns);
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
    uint64_t place = 0;              // number of the next window for it
    uint64_t sent = 0, allowed = 0;  // windows since it began
    int64_t heard_ns = 0;
    bool told_end = false;
  };

  void subscribe(const std::string& peer, const StreamNote& note, int64_t now_ns);
  void refuse(const std::string& peer, Refusal reason, std::string_view text);
  uint64_t place_for(const StreamNote& note) const;
  Sent advance(const std::string& peer, Subscriber& subscriber);
  Sent tell(const std::string& peer, const Subscriber& subscriber, NoteKind kind);
  void keep_up(Subscriber& subscriber);
  template <class Gone>
  void forget_if(Gone gone);

  const StreamLimits limits_;
  const uint64_t run_;
  const StreamHistory& history_;
  StreamSender& sender_;
  std::map<std::string, Subscriber> subscribers_;
  StreamTotals totals_;
  bool ended_ = false;
};

}  // namespace trama
