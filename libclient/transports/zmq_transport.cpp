// trama+tcp:// and trama+ipc://: a publisher of this project. A thread keeps a session with it and makes another when
// it is lost, from the first window on that hasn't come yet, so that a publisher that still has it sends it again.
#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "libclient/formats/envelope.hpp"
#include "libclient/transports/publisher_session.hpp"
#include "libclient/transports/transport.hpp"

namespace trama {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSignOfLife(1000);                     // told at least so often
constexpr milliseconds kFirstPause(50), kLongestPause(5000);  // between two tries to connect

std::span<const uint8_t> bytes_of(const zmq::message_t& message) {
  return {static_cast<const uint8_t*>(message.data()), message.size()};
}

class ZmqTransport final : public Transport {
 public:
  ZmqTransport(StreamUrl url, SubscribeOptions options, StreamQueue& queue, TransportCounts& counts)
      : url_(std::move(url)),
        options_(std::move(options)),
        queue_(queue),
        counts_(counts),
        silence_(static_cast<int64_t>(std::min(options_.silence_s, 1e6) * 1e3)),
        thread_([this] { work(); }) {}
  ~ZmqTransport() override { thread_.join(); }

 private:
  enum class After { again, over };

  void work();
  After follow(PublisherSession& session);
  After hear(zmq::message_t message);
  After hear_note(const StreamNote& note);
  void hear_window(zmq::message_t message);
  After fail(std::string text, std::string hint = "");
  void put(StreamItem item);
  void leave(PublisherSession& session);
  void subscribe(PublisherSession& session);
  uint64_t room() const;
  void allow(PublisherSession& session);
  void pause();

  const StreamUrl url_;
  const SubscribeOptions options_;
  StreamQueue& queue_;
  TransportCounts& counts_;
  const milliseconds silence_;
  zmq::context_t context_;
  uint64_t run_ = 0;        // that was followed last; 0: none yet
  uint64_t next_ = 0;       // the least number of it that may still come
  uint64_t envelopes_ = 0;  // that came in this session
  uint64_t allowed_ = 0;    // that the publisher has been told
  bool begun_ = false;      // in this session
  milliseconds pause_ = kFirstPause;
  std::string why_;     // the session ended
  std::thread thread_;  // last: it uses all of the above
};

void ZmqTransport::work() {
  try {
    while (!queue_.closed()) {
      After after;
      {
        PublisherSession session(context_, url_, options_);
        after = follow(session);
        session.close();
      }
      counts_.connected.store(false, std::memory_order_relaxed);
      if (after == After::over || queue_.closed()) return;
      if (!options_.reconnect) return (void)fail(url_.text() + ": " + why_);
      pause();
    }
  } catch (const std::exception& error) {  // of ZeroMQ, or out of memory
    fail(url_.text() + ": " + error.what());
  }
}

ZmqTransport::After ZmqTransport::follow(PublisherSession& session) {
  begun_ = false;
  subscribe(session);
  auto heard = Clock::now(), told = heard;
  while (!queue_.closed()) {
    session.wait(queue_.room_descriptor(), static_cast<int>(std::min(silence_, kSignOfLife).count() / 2) + 1);
    queue_.clear_room();
    const bool alive = session.alive();  // asked first: what came before the end of the connection is still read
    while (!queue_.closed()) {
      auto message = session.receive();
      if (!message) break;
      heard = Clock::now();
      const After after = hear(std::move(*message));
      if (after == After::over || !why_.empty()) return leave(session), after;
    }
    const auto now = Clock::now();
    if (!alive || now - heard > silence_) {
      why_ = begun_ ? "the connection was lost" : "no publisher answers there";
      return After::again;
    }
    if (!begun_) continue;
    const uint64_t allowed = room();
    if (allowed < allowed_ + (options_.ahead + 1) / 2 && now - told < kSignOfLife) continue;
    allowed_ = allowed;
    told = now;
    allow(session);
  }
  leave(session);
  return After::over;
}

// A publisher that ends waits for this: what it has sent is lost with the connection until it was read here.
void ZmqTransport::leave(PublisherSession& session) {
  StreamNote note;
  note.kind = NoteKind::leave;
  session.tell(note);
}

void ZmqTransport::subscribe(PublisherSession& session) {
  why_.clear();
  StreamNote note;
  note.kind = NoteKind::subscribe;
  note.text = url_.stream;
  note.run = run_;
  note.start = run_ == 0 ? options_.start : StartKind::number;
  note.number = run_ == 0 ? options_.start_at : next_;
  envelopes_ = 0;
  allowed_ = room();
  note.allowed = allowed_;
  session.tell(note);
}

// How many envelopes may come in this session, in total. Those of the session before that still wait take their room.
uint64_t ZmqTransport::room() const {
  const size_t waiting = options_.overflow == Overflow::drop ? 0 : queue_.windows();
  return envelopes_ + options_.ahead - std::min(options_.ahead, waiting);
}

void ZmqTransport::allow(PublisherSession& session) {
  StreamNote note;
  note.kind = NoteKind::allow;
  note.allowed = allowed_;
  session.tell(note);
}

ZmqTransport::After ZmqTransport::hear(zmq::message_t message) {
  const auto bytes = bytes_of(message);
  if (is_of_other_version(bytes))
    return fail(url_.text() + ": the publisher speaks another version", "use the same release on both sides");
  if (looks_like_envelope(bytes)) {
    hear_window(std::move(message));
    return After::again;
  }
  const auto note = read_note(bytes);
  if (note) return hear_note(*note);
  counts_.damaged.fetch_add(1, std::memory_order_relaxed);
  return After::again;
}

ZmqTransport::After ZmqTransport::hear_note(const StreamNote& note) {
  StreamItem item;
  item.run = note.run;
  item.number = note.number;
  switch (note.kind) {
    case NoteKind::begin:
      // Once more when a relay goes over to another run.
      if (!std::exchange(begun_, true)) counts_.sessions.fetch_add(1, std::memory_order_relaxed);
      next_ = run_ == note.run ? std::max(next_, note.number) : note.number;
      run_ = note.run;
      counts_.connected.store(true, std::memory_order_relaxed);
      item.kind = StreamItem::Kind::begin;
      put(std::move(item));
      return After::again;
    case NoteKind::heartbeat:
    case NoteKind::end:
      if (!begun_ || note.run != run_) return After::again;
      pause_ = note.kind == NoteKind::heartbeat ? kFirstPause : pause_;
      if (note.kind == NoteKind::end && !options_.past_end) {
        item.kind = StreamItem::Kind::end;
        put(std::move(item));
        return After::over;
      }
      if (note.kind == NoteKind::end) why_ = "the run ended";
      if (note.number <= next_) return After::again;
      next_ = note.number;
      put(std::move(item));
      return After::again;
    case NoteKind::refused:
      if (note.refusal == Refusal::unknown) return why_ = "the publisher had forgotten us", After::again;
      if (note.refusal == Refusal::full)
        return why_ = "the publisher has as many subscribers as it takes", After::again;
      if (note.refusal == Refusal::stream)
        return fail(url_.text() + ": the publisher has no stream of that name",
                    "without a name behind the port, the URL is that of whichever stream there is");
      return fail(url_.text() + ": the publisher speaks another version");
    case NoteKind::subscribe:
    case NoteKind::allow:
    case NoteKind::leave: break;
  }
  return After::again;
}

// What can't be read is missed: its number is passed by the next window, or by a heartbeat.
void ZmqTransport::hear_window(zmq::message_t message) {
  if (++envelopes_ > allowed_) return (void)(why_ = "the publisher sends more than it may");
  const auto kept = std::make_shared<const zmq::message_t>(std::move(message));
  const auto envelope = read_envelope(bytes_of(*kept));
  if (!envelope || !begun_ || envelope->run != run_) {
    counts_.damaged.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  pause_ = kFirstPause;  // not for `begin` alone: the next message may be too long for us again and again
  StreamItem item;
  item.info = window_info(*envelope);
  next_ = std::max(next_, envelope->seq + 1);
  if (envelope->encoding == EnvelopeEncoding::tail) {
    item.kind = StreamItem::Kind::tail;
    item.number = envelope->seq;
    item.go_on = next_;
  } else {
    item.kind = StreamItem::Kind::window;
    item.matrix = {kept, envelope->matrix};
  }
  put(std::move(item));
}

// Never waits: a publisher sends no more than there is room for, unless it is told so.
void ZmqTransport::put(StreamItem item) { queue_.put_dropping(std::move(item)); }

ZmqTransport::After ZmqTransport::fail(std::string text, std::string hint) {
  StreamItem item;
  item.kind = StreamItem::Kind::error;
  item.error = {std::move(text), std::move(hint)};
  put(std::move(item));
  return After::over;
}

void ZmqTransport::pause() {
  const auto until = Clock::now() + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
  queue_.wait_until_closed(until);
}

}  // namespace

std::unique_ptr<Transport> follow_publisher(const StreamUrl& url, const SubscribeOptions& options, StreamQueue& queue,
                                            TransportCounts& counts) {
  return std::make_unique<ZmqTransport>(url, options, queue, counts);
}

}  // namespace trama
