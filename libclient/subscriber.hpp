// Follows a stream of traffic matrices: a publisher's, or the archives in a folder. Windows come in order, and every
// one that was lost on the way is told, once.
//
//   auto subscriber = trama::Subscriber::open("trama+tcp://127.0.0.1:7801/roof");
//   for (;;) {
//     const auto next = subscriber->next(std::chrono::seconds(1));
//     if (next.outcome == trama::Outcome::window) use(next.window->matrix(), next.window->missed);
//     if (next.outcome == trama::Outcome::ended || next.outcome == trama::Outcome::error) break;
//   }
//
// docs/streams.md says more. Nothing here needs the rest of Trama, nor GraphBLAS (formats/graphblas_matrix.hpp does).
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "libclient/formats/error.hpp"
#include "libclient/formats/stream_note.hpp"
#include "libclient/stream_window.hpp"

namespace trama {

// What happens when windows come faster than next() takes them.
enum class Overflow {
  wait,  // none is taken until there is room here: a publisher drops what its own queue can't hold; a folder waits
  drop,  // the oldest that is waiting here is dropped for each that comes. A folder waits all the same
};

// Keys of CURVE, 40 characters of Z85 each; for publishers that want them (docs/streams.md).
struct SubscriberKeys {
  std::string publisher;  // its public key; empty: nothing is encrypted
  std::string secret;     // of this subscriber
};

// Files for NATS servers that want more than a name (docs/streams.md); names of those that aren't needed stay empty.
struct NatsFiles {
  std::string ca;                // certificates of the authorities that the server's must be of; PEM
  std::string certificate, key;  // of this subscriber; PEM
  std::string credentials;       // as NATS' tools make them
  std::string login;             // USER:PASSWORD, or a token
};

struct SubscribeOptions {
  StartKind start = StartKind::live;
  uint64_t start_at = 0;  // the window's number, how many of the last windows, or the time
  Overflow overflow = Overflow::wait;
  size_t ahead = 8;       // windows that may wait here, 1 .. 256
  bool reconnect = true;  // otherwise a connection that fails is an error
  bool past_end = false;  // wait for a publisher's next run when one has ended
  bool follow = true;     // of a folder: wait for more archives behind the last
  double silence_s = 5;   // without a sign of life from the publisher (there is one a second): connect anew
  uint64_t max_bytes = uint64_t{64} << 20;  // longer messages end the connection
  uint64_t max_links = uint64_t{1} << 26;   // windows with more are refused
  SubscriberKeys keys;
  NatsFiles nats;
};

enum class Outcome {
  window,
  timeout,
  ended,  // the publisher's run, or the folder without `follow`; every call after it gives this again
  error,  // nothing more can come: refused, another version, a folder that is gone; every call after it gives this
          // again
};

struct Next {
  Outcome outcome = Outcome::timeout;
  std::optional<StreamWindow> window;
  uint64_t missed = 0;  // with `ended`: windows lost behind the last one that came; told once
  FormatError error;
};

struct StreamCounts {
  uint64_t windows = 0;   // given by next()
  uint64_t missed = 0;    // told by next()
  uint64_t damaged = 0;   // of the missed, those that came and could not be read; and archives that couldn't
  uint64_t sessions = 0;  // connections that were made
};

// One thread at a time. A thread of its own does the reading, so that publishers see a sign of life however long next()
// isn't called.
class Subscriber {
 public:
  // Returns at once; a publisher that isn't there yet is waited for. Error: a URL or options that can't be, a folder
  // that isn't there.
  static FormatExpected<Subscriber> open(std::string_view url, const SubscribeOptions& options = {});
  ~Subscriber();
  Subscriber(Subscriber&&) noexcept;
  Subscriber& operator=(Subscriber&&) noexcept;

  // The next window, or what happened instead. A timeout of 0 only looks.
  Next next(std::chrono::milliseconds timeout);

  // Readable when next() would not time out at once, for poll() and event loops. Belongs to the subscriber.
  int descriptor() const;

  StreamCounts counts() const;
  // Verdicts of what arrived after the last window of the runs that have ended.
  const VerdictCounts& tail() const;
  // The tail that came since the last call, for those who send it on: its number, run (0 from archives) and so on. Of
  // several of a run it is the last, with the verdicts of all.
  std::optional<WindowInfo> take_tail();
  bool connected() const;  // a publisher is there now; always for a folder

 private:
  struct State;
  explicit Subscriber(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trama
