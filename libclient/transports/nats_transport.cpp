// nats:// and nats+tls://: windows come live as they are published, and from the server's store (JetStream) where
// they didn't: what was lost on the way or while there was no connection, and what a subscriber wants that begins
// earlier or was slow. A thread keeps a session with the server, and makes another when nothing is heard any more.
//
// A slow subscriber with Overflow::wait lets live windows pass by, and asks for them when it has room: nothing waits
// here but what it may have ahead, and once again as much that came out of order.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <thread>
#include <utility>

#include "libclient/formats/envelope.hpp"
#include "libclient/transports/nats_link.hpp"
#include "libclient/transports/nats_order.hpp"
#include "libclient/transports/nats_store.hpp"
#include "libclient/transports/nats_subjects.hpp"
#include "libclient/transports/transport.hpp"

namespace trama {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause(50), kLongestPause(5000);  // between two tries to connect
constexpr milliseconds kStep(100), kNoteAgain(100), kLookAgain(1000);
constexpr int kPatience = 3;        // times the silence: for a store that has been there and doesn't answer
constexpr size_t kNotesAhead = 64;  // besides windows
constexpr size_t kManyGone = 64;    // numbers in a row, before the store is asked what comes behind them
constexpr size_t kRunsLeft = 64;    // that are remembered

int64_t since_start(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

class NatsTransport final : public Transport {
 public:
  NatsTransport(StreamUrl url, NatsAccess access, SubscribeOptions options, StreamQueue& queue, TransportCounts& counts)
      : url_(std::move(url)),
        access_(std::move(access)),
        options_(std::move(options)),
        queue_(queue),
        counts_(counts),
        silence_(static_cast<int64_t>(std::min(options_.silence_s, 1e6) * 1e3)),
        order_(options_.ahead),
        thread_([this] { work(); }) {}
  ~NatsTransport() override { thread_.join(); }

 private:
  enum class After { again, over };

  void work();
  After session();
  bool connect(NatsLink& link);
  After follow();
  bool begin_from_store();
  bool begin_again();
  void begin(uint64_t run, uint64_t number);
  bool begin_live(uint64_t run, uint64_t number);
  std::optional<uint64_t> begin_at(uint64_t run, uint64_t allowed);
  After hear(NatsMessage message);
  void hear_answer(const NatsStore::Answer& about, NatsMessage message);
  After hear_live(const NatsPlace& place, NatsMessage message);
  void hear_note(const StreamNote& note, bool stored);
  bool is_followed(uint64_t run, uint64_t head);
  std::optional<NatsWindow> read(const NatsPlace& place, NatsMessage message);
  void leave_run(uint64_t next_run);
  void remember_left(uint64_t run);
  void learn_rest();
  After advance();
  void ask();
  void look();
  void ask_without_store(Clock::time_point now);
  void pass_many_gone();
  void deliver();
  bool has_room() const { return options_.overflow == Overflow::drop || queue_.windows() < options_.ahead; }
  After fail(std::string text, std::string hint = "");
  void put(StreamItem::Kind kind, uint64_t number);
  void pause();

  const StreamUrl url_;
  const NatsAccess access_;
  const SubscribeOptions options_;
  StreamQueue& queue_;
  TransportCounts& counts_;
  const milliseconds silence_;
  NatsOrder order_;
  NatsLink* link_ = nullptr;    // of this session
  NatsStore* store_ = nullptr;  // of this session
  NatsStore::Known store_known_ = NatsStore::Known::no_answer;
  bool store_was_there_ = false;
  bool begun_ = false;                     // in this session
  uint64_t run_ = 0;                       // that is followed; 0: none yet
  uint64_t next_run_ = 0, next_head_ = 0;  // that has begun, while the rest of the one before is still read
  std::optional<uint64_t> end_;            // the number behind the last one of the run
  uint64_t passed_ = 0;                    // told to the queue
  std::optional<uint64_t> delivered_;      // of this run
  std::deque<uint64_t> left_;              // runs that are over
  Clock::time_point heard_, looked_, asked_note_, answered_, asked_rest_, left_since_;
  bool rest_known_ = false;  // when another run has begun: all of this one that the store has
  bool gap_ = false, many_gone_ = false;
  milliseconds pause_ = kFirstPause;
  std::string why_;     // the session ended
  std::thread thread_;  // last: it uses all of the above
};

void NatsTransport::work() {
  try {
    while (!queue_.closed()) {
      const After after = session();
      link_ = nullptr;
      store_ = nullptr;
      counts_.connected.store(false, std::memory_order_relaxed);
      if (after == After::over || queue_.closed()) return;
      if (!options_.reconnect) return (void)fail(url_.text() + ": " + why_);
      pause();
    }
  } catch (const std::exception& error) {
    fail(url_.text() + ": " + error.what());
  }
}

NatsTransport::After NatsTransport::session() {
  auto link = NatsLink::open(url_, access_, false);
  if (!link) return fail(std::move(link.error().text), std::move(link.error().hint));
  if (!connect(**link)) return After::again;
  NatsStore store(**link, url_, options_.max_bytes, [this] { return queue_.closed(); });
  link_ = link->get();
  store_ = &store;
  begun_ = false;
  order_.ask_again();
  look();
  heard_ = Clock::now();
  if (store_known_ == NatsStore::Known::unfit)
    return fail(url_.text() + ": the JetStream stream " + nats_store(url_) + " doesn't let single messages be read",
                "set allow_direct of that stream, or give another with ?store=NAME");
  if (!begin_from_store()) {
    why_ = link_->connected() ? "the server's store does not answer" : "the connection was lost: " + link_->why();
    return After::again;
  }
  heard_ = Clock::now();
  return follow();
}

// Subscribed, and known to the server to be: whatever is published from now on comes.
bool NatsTransport::connect(NatsLink& link) {
  while (!queue_.closed() && !link.connected() && !link.over()) {
    pollfd events[] = {{link.descriptor(), POLLIN, 0}, {queue_.room_descriptor(), POLLIN, 0}};
    poll(events, 2, static_cast<int>(kStep.count()));
    queue_.clear_room();
    link.clear();
  }
  const size_t most = 2 * options_.ahead + kNotesAhead;
  if (link.connected() && link.subscribe(link.inbox() + ".>", most, options_.max_bytes) &&
      link.subscribe(nats_everything(url_), most, options_.max_bytes) && link.flush(static_cast<int>(silence_.count())))
    return true;
  why_ = "no connection: " + link.why();
  return false;
}

// Where the subscriber wants to begin, or how the run that it follows has gone on. Without a store that knows, the
// first that comes live says so. False: the store that may be there doesn't answer, so that nothing is known.
bool NatsTransport::begin_from_store() {
  if (store_known_ == NatsStore::Known::no_answer && (store_was_there_ || options_.start != StartKind::live))
    return false;
  if (run_ != 0) return begin_again();
  if (options_.start == StartKind::live || store_known_ != NatsStore::Known::there) return true;
  const auto found = store_->note(std::nullopt);
  if (!found) return found.answered;
  const StreamNote& note = found->note;
  const auto at = begin_at(note.run, note.allowed);
  const auto last = store_->last_of(note.run);
  if (!at || !last.answered) return false;
  begin(note.run, *at);
  hear_note(note, true);
  if (last) order_.published(last->number + 1);
  return true;
}

// The store may be behind, and end in an older run than this one: only what came into it later than this one's note is
// of a newer run.
bool NatsTransport::begin_again() {
  NatsFound<NatsStore::Note> own, newest;
  if (store_known_ == NatsStore::Known::there) {
    own = store_->note(run_);
    newest = store_->note(std::nullopt);
    if (!own.answered || !newest.answered) return false;
  }
  begin(run_, order_.next());
  if (own) hear_note(own->note, true);
  if (own && newest && newest->sequence > own->sequence) hear_note(newest->note, true);
  return true;
}

// By what came live. False: the store has to say more, and doesn't; it is asked again when more comes.
bool NatsTransport::begin_live(uint64_t run, uint64_t number) {
  const bool earlier = options_.start != StartKind::live && store_known_ == NatsStore::Known::there;
  const auto at = earlier || options_.start == StartKind::number ? begin_at(run, number) : number;
  if (at) begin(run, *at);
  return at.has_value();
}

// Nothing: the store doesn't say, or has thrown away between two questions what it spoke of.
std::optional<uint64_t> NatsTransport::begin_at(uint64_t run, uint64_t allowed) {
  const uint64_t at = options_.start_at;
  if (options_.start == StartKind::number) return at;
  const auto first = store_->first_of(run), last = store_->last_of(run);
  if (!first.answered || !last.answered || bool(first) != bool(last)) return std::nullopt;
  if (!first) return allowed;
  const uint64_t end = std::max(allowed, last->number + 1);
  if (options_.start == StartKind::last) return std::max(first->number, end - std::min(end, at));
  return store_->since(run, *first, *last, static_cast<int64_t>(at)).what;
}

void NatsTransport::begin(uint64_t run, uint64_t number) {
  if (run_ != run) {
    order_.begin(number);
    end_.reset();
    delivered_.reset();
    passed_ = number;
  }
  if (!begun_) counts_.sessions.fetch_add(1, std::memory_order_relaxed);
  run_ = run;
  begun_ = true;
  pause_ = kFirstPause;
  StreamItem item;
  item.kind = StreamItem::Kind::begin;
  item.run = run;
  item.number = number;
  queue_.put_dropping(std::move(item));
  counts_.connected.store(true, std::memory_order_relaxed);
}

NatsTransport::After NatsTransport::follow() {
  why_.clear();
  while (!queue_.closed()) {
    if (advance() == After::over) return After::over;
    pollfd events[] = {{link_->descriptor(), POLLIN, 0}, {queue_.room_descriptor(), POLLIN, 0}};
    poll(events, 2, static_cast<int>(std::min(silence_ / 4, kStep).count()) + 1);
    queue_.clear_room();
    link_->clear();
    const bool alive = link_->connected();
    while (!queue_.closed()) {
      auto message = store_->take();
      if (!message) break;
      heard_ = Clock::now();
      if (hear(std::move(*message)) == After::over) return After::over;
      deliver();
    }
    if (alive && Clock::now() - heard_ <= silence_) continue;
    if (alive && !has_room()) continue;  // nothing is asked for, so that nothing need come
    why_ = alive ? (begun_ ? "the publisher was not heard any more" : "nothing is published there")
                 : "the connection was lost: " + link_->why();
    return After::again;
  }
  return After::over;
}

NatsTransport::After NatsTransport::hear(NatsMessage message) {
  if (const auto about = store_->answer(message)) return hear_answer(*about, std::move(message)), After::again;
  const auto place = nats_place(url_, message.subject);
  if (!place) return After::again;  // of others below the same subject, or an answer that came too late
  return hear_live(*place, std::move(message));
}

void NatsTransport::hear_answer(const NatsStore::Answer& about, NatsMessage message) {
  if (about.run != run_) return;
  answered_ = Clock::now();
  if (about.is_note) {
    if (const auto note = read_note(message.bytes); note && note->run == run_) hear_note(*note, true);
    return;
  }
  const int64_t now = since_start(answered_);
  if (message.status == 503) return;  // asked again later
  if (message.status != 0 && message.status != kNatsTooLong) return order_.absent(about.number, now);
  if (auto window = read({about.run, about.number}, std::move(message)))
    order_.keep(about.number, std::move(*window));
  else
    counts_.damaged.fetch_add(1, std::memory_order_relaxed), order_.absent(about.number, now, true);
}

NatsTransport::After NatsTransport::hear_live(const NatsPlace& place, NatsMessage message) {
  if (is_of_other_version(message.bytes))
    return fail(url_.text() + ": the publisher speaks another version", "use the same release on both sides");
  if (!place.number) {
    const auto note = read_note(message.bytes);
    if (note && note->run == place.run && note->run != 0)
      hear_note(*note, false);
    else
      counts_.damaged.fetch_add(1, std::memory_order_relaxed);
    return After::again;
  }
  if (!is_followed(place.run, *place.number + 1)) return After::again;
  if (!begun_ && !begin_live(place.run, *place.number)) return After::again;
  // One that can't be read is asked for, when more has come: the store may have it whole.
  if (auto window = read(place, std::move(message))) order_.keep(*place.number, std::move(*window));
  return After::again;
}

// Which run a message is of: false where it isn't the one that is followed now. Runs don't come back.
bool NatsTransport::is_followed(uint64_t run, uint64_t head) {
  if (run_ == 0 || run == run_) return true;
  if (std::find(left_.begin(), left_.end(), run) != left_.end()) return false;
  if (next_run_ != 0 && next_run_ != run) remember_left(next_run_);
  if (next_run_ != run) leave_run(run);
  next_head_ = std::max(next_head_, head);
  return false;
}

// Heartbeats, ends and begins alike: `allowed` is the number of the window that the publisher will send next, and what
// is below `number` is stored or lost. Of the store's own word, that is said of the store.
void NatsTransport::hear_note(const StreamNote& note, bool stored) {
  if (note.kind != NoteKind::begin && note.kind != NoteKind::heartbeat && note.kind != NoteKind::end) return;
  if (!is_followed(note.run, note.allowed)) return;
  if (!begun_ && !begin_live(note.run, note.allowed)) return;
  order_.published(note.allowed);
  if (stored) order_.settled(note.number);
  if (note.kind == NoteKind::end) end_ = note.allowed;
}

std::optional<NatsWindow> NatsTransport::read(const NatsPlace& place, NatsMessage message) {
  const auto kept = std::make_shared<const NatsMessage>(std::move(message));
  const auto envelope = read_envelope(kept->bytes);
  if (!envelope || envelope->run != place.run || envelope->seq != *place.number) return std::nullopt;
  return NatsWindow{window_info(*envelope), {kept, envelope->matrix}};
}

// Another run has begun: what the store has of this one still comes first.
void NatsTransport::leave_run(uint64_t next_run) {
  next_run_ = next_run;
  next_head_ = 0;
  rest_known_ = false;
  left_since_ = Clock::now();
  asked_rest_ = {};
}

void NatsTransport::remember_left(uint64_t run) {
  left_.push_back(run);
  if (left_.size() > kRunsLeft) left_.pop_front();
}

// A store that has the next run's notes has everything of this one that it will ever have. One that hasn't got them for
// long, or doesn't answer for long, is not waited for.
void NatsTransport::learn_rest() {
  const auto now = Clock::now();
  if (rest_known_ || now - asked_rest_ < kNoteAgain) return;
  const bool late = now - left_since_ > kPatience * silence_;
  if (store_known_ == NatsStore::Known::no_answer && now - looked_ > kLookAgain) look();
  if (store_known_ == NatsStore::Known::there) {
    const auto next = store_->note(next_run_), own = store_->note(run_);
    const auto last = store_->last_of(run_);
    if (own) order_.published(own->note.allowed);
    if (last) order_.published(last->number + 1);
    rest_known_ = late || (next && own.answered && last.answered);
    if (rest_known_) order_.settled(order_.head());
  } else {
    rest_known_ = late || store_known_ == NatsStore::Known::missing;
  }
  asked_rest_ = Clock::now();
}

NatsTransport::After NatsTransport::advance() {
  if (!begun_) return After::again;
  if (next_run_ != 0) learn_rest();
  deliver();
  ask();
  deliver();
  if (!order_.complete()) return After::again;
  if (next_run_ != 0) {
    if (!rest_known_) return After::again;
    remember_left(run_);
    begin(std::exchange(next_run_, 0), 0);
    order_.published(next_head_);
    return advance();
  }
  if (!end_ || order_.next() < *end_ || options_.past_end) return After::again;
  put(StreamItem::Kind::end, *end_);
  return After::over;
}

// Asks for what didn't come, as much as there is room for.
void NatsTransport::ask() {
  const auto now = Clock::now();
  const bool gap = !order_.complete() && has_room();
  if (gap && !gap_) answered_ = now;
  gap_ = gap;
  if (!gap) return;
  if (store_known_ == NatsStore::Known::there && now - std::max(answered_, looked_) > silence_) look();
  if (store_known_ != NatsStore::Known::there) return ask_without_store(now);
  for (size_t i = 0; i < options_.ahead; ++i) {
    const auto number = order_.ask(since_start(now));
    if (!number || !store_->ask_window(run_, *number)) break;
  }
  if (order_.wants_word() && now - asked_note_ > kNoteAgain) {
    asked_note_ = now;
    store_->ask_note(run_);
  }
  if (order_.gone_in_a_row() < kManyGone)
    many_gone_ = false;
  else if (!std::exchange(many_gone_, true))
    pass_many_gone();
}

void NatsTransport::look() {
  looked_ = Clock::now();
  store_known_ = store_->look();
  if (store_known_ == NatsStore::Known::no_answer && link_->not_permitted()) store_known_ = NatsStore::Known::missing;
  store_was_there_ |= store_known_ == NatsStore::Known::there;
}

// Where there is no store, and has been none for long, what is missing stays so. One that only doesn't answer may have
// it yet.
void NatsTransport::ask_without_store(Clock::time_point now) {
  // What was known before this gap may not be so any more: a publisher makes the store when it comes.
  if (looked_ < answered_ || now - looked_ > kLookAgain) look();
  if (store_known_ != NatsStore::Known::missing) return;
  if (!store_was_there_ || now - answered_ > kPatience * silence_) order_.give_up();
}

// A long row of numbers that are gone, as after a long time without a server, or behind what the store has thrown away:
// how far it goes is asked for. Windows may be stored in a slightly different order than that of their numbers.
void NatsTransport::pass_many_gone() {
  NatsFound<NatsStore::Stored> before{{}, true};
  if (delivered_) before = store_->window(run_, *delivered_);
  if (!before.answered) return (void)(many_gone_ = false);  // asked again
  const auto following = store_->first_of(run_, before ? before->message.sequence + 1 : 1);
  many_gone_ = following.answered;
  if (following && following->number > order_.next() + kMostNatsQueue) order_.skip(following->number - kMostNatsQueue);
}

void NatsTransport::deliver() {
  while (has_room()) {
    auto window = order_.deliver();
    if (!window) break;
    StreamItem item;
    item.info = std::move(window->info);
    delivered_ = item.info.seq;
    passed_ = order_.next();
    if (item.info.encoding == EnvelopeEncoding::tail) {
      item.kind = StreamItem::Kind::tail;
      item.number = item.info.seq;
      item.go_on = passed_;
    } else {
      item.kind = StreamItem::Kind::window;
      item.matrix = std::move(window->matrix);
    }
    queue_.put_dropping(std::move(item));
  }
  if (order_.next() > passed_) put(StreamItem::Kind::pass, passed_ = order_.next());
}

void NatsTransport::put(StreamItem::Kind kind, uint64_t number) {
  StreamItem item;
  item.kind = kind;
  item.run = run_;
  item.number = number;
  queue_.put_dropping(std::move(item));
}

NatsTransport::After NatsTransport::fail(std::string text, std::string hint) {
  StreamItem item;
  item.kind = StreamItem::Kind::error;
  item.error = {std::move(text), std::move(hint)};
  item.number = passed_;
  queue_.put_dropping(std::move(item));
  return After::over;
}

void NatsTransport::pause() {
  const auto until = Clock::now() + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
  queue_.wait_until_closed(until);
}

}  // namespace

FormatExpected<std::unique_ptr<Transport>> follow_nats(const StreamUrl& url, const SubscribeOptions& options,
                                                       StreamQueue& queue, TransportCounts& counts) {
  if (!nats_available()) return format_failure(url.text() + ": " + kNoNats, kNoNatsHint);
  const NatsFiles& files = options.nats;
  auto access = NatsAccess::load(files.ca, files.certificate, files.key, files.credentials, files.login);
  if (!access) return tl::unexpected(std::move(access.error()));
  return std::make_unique<NatsTransport>(url, std::move(*access), options, queue, counts);
}

}  // namespace trama
