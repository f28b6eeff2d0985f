#include "modules/support/stream_subscribers.hpp"

#include <algorithm>
#include <utility>

#include "libclient/formats/envelope.hpp"

namespace trama {

StreamSubscribers::StreamSubscribers(StreamLimits limits, const StreamHistory& history, StreamSender& sender,
                                     StreamArchive* archive)
    : limits_(std::move(limits)), history_(history), sender_(sender), archive_(archive) {}

void StreamSubscribers::begin_run(uint64_t run) {
  run_ = run;
  forget_if([&](const std::string& peer, Subscriber& subscriber) {
    if (!subscriber.begun) return start(peer, subscriber) == Sent::gone;
    subscriber.place = history_.next();
    withdraw(subscriber);
    // One that can't be told now would take windows of this run for damaged ones: it has to come again.
    return tell(peer, subscriber, NoteKind::begin) != Sent::done;
  });
}

void StreamSubscribers::leave_run() {
  advance();
  forget_if([&](const std::string& peer, Subscriber& subscriber) {
    if (!subscriber.begun) return false;
    go_on_from(subscriber, history_.next(), totals_.lost);
    return tell(peer, subscriber, NoteKind::heartbeat) == Sent::gone;
  });
}

void StreamSubscribers::hear(const std::string& peer, std::span<const uint8_t> bytes, int64_t now_ns) {
  const auto note = read_note(bytes);
  if (!note) {
    ++totals_.nonsense;
    if (is_of_other_version(bytes)) refuse(peer, Refusal::version, "this publisher speaks another version");
    return;
  }
  if (note->kind == NoteKind::subscribe) return subscribe(peer, *note, now_ns);
  const auto known = subscribers_.find(peer);
  if (note->kind == NoteKind::leave) {
    if (known != subscribers_.end()) forget(known);
  } else if (note->kind != NoteKind::allow) {
    ++totals_.nonsense;
  } else if (known == subscribers_.end()) {
    refuse(peer, Refusal::unknown, "not subscribed, or silent for too long");
  } else {
    known->second.heard_ns = now_ns;
    Subscriber& subscriber = known->second;
    subscriber.allowed = std::max(subscriber.allowed, std::min(note->allowed, subscriber.sent + limits_.ahead));
    if (advance(peer, subscriber) == Sent::gone) forget(known);
  }
}

void StreamSubscribers::subscribe(const std::string& peer, const StreamNote& note, int64_t now_ns) {
  // Once for each connection: what was allowed before would else begin anew, and frames with it.
  if (subscribers_.contains(peer)) return (void)++totals_.nonsense;
  if (!note.text.empty() && note.text != limits_.stream)
    return refuse(peer, Refusal::stream, "this publisher has no stream of that name");
  if (subscribers_.size() >= limits_.subscribers)
    return refuse(peer, Refusal::full, "this publisher has as many subscribers as it takes");
  Subscriber subscriber{.wanted = note, .allowed = std::min<uint64_t>(note.allowed, limits_.ahead), .heard_ns = now_ns};
  subscriber.wanted.text = {};
  if (run_ == 0 || start(peer, subscriber) == Sent::done) subscribers_.insert_or_assign(peer, subscriber);
}

void StreamSubscribers::refuse(const std::string& peer, Refusal reason, std::string_view text) {
  ++totals_.refused;
  StreamNote note;
  note.kind = NoteKind::refused;
  note.refusal = reason;
  note.text = text;
  sender_.send(peer, note);
}

Sent StreamSubscribers::start(const std::string& peer, Subscriber& subscriber) {
  if (archive_ != nullptr && search(peer, subscriber)) return Sent::done;
  subscriber.place = place_for(subscriber.wanted);
  return begin(peer, subscriber);
}

// Asks the archive for the place where the subscriber begins. False: the history knows it, or it begins by number.
bool StreamSubscribers::search(const std::string& peer, Subscriber& subscriber) {
  const StreamNote& wanted = subscriber.wanted;
  const uint64_t oldest = history_.oldest();
  if (wanted.start == StartKind::last && wanted.number > history_.size() && oldest > 0) {
    ask(peer, subscriber, oldest - std::min(oldest, wanted.number - history_.size()));
    return true;
  }
  const auto time_ns = static_cast<int64_t>(wanted.number);
  if (wanted.start != StartKind::time || oldest == 0 || history_.since(time_ns) > oldest) return false;
  ask(peer, subscriber, 0, time_ns);
  return true;
}

Sent StreamSubscribers::begin(const std::string& peer, Subscriber& subscriber) {
  if (archive_ == nullptr) subscriber.place = std::max(subscriber.place, history_.oldest());
  if (const Sent told = tell(peer, subscriber, NoteKind::begin); told != Sent::done) return Sent::gone;
  subscriber.begun = true;
  ++totals_.joined;
  return advance(peer, subscriber) == Sent::gone ? Sent::gone : Sent::done;
}

uint64_t StreamSubscribers::place_for(const StreamNote& note) const {
  switch (note.start) {
    case StartKind::live: return history_.next();
    case StartKind::last: return history_.last(note.number);
    case StartKind::time: return history_.since(static_cast<int64_t>(note.number));
    case StartKind::number: break;
  }
  // Whoever followed another run gets this one from its first window on.
  return note.run == 0 || note.run == run_ ? note.number : 0;
}

void StreamSubscribers::go_on_from(Subscriber& subscriber, uint64_t seq, uint64_t& count) {
  if (seq <= subscriber.place) return;
  count += seq - subscriber.place;
  subscriber.place = seq;
}

Sent StreamSubscribers::send(const std::string& peer, Subscriber& subscriber, const KeptWindow& window) {
  const Sent sent = sender_.send(peer, window.frame);
  if (sent != Sent::done) return sent;
  ++subscriber.sent;
  ++totals_.sent;
  subscriber.place = window.seq + 1;
  return sent;
}

void StreamSubscribers::ask(const std::string& peer, Subscriber& subscriber, uint64_t from, int64_t time_ns) {
  if (archive_->ask({peer, ++tickets_, from, history_.oldest(), time_ns})) subscriber.ticket = tickets_;
}

void StreamSubscribers::withdraw(Subscriber& subscriber) {
  if (subscriber.ticket != 0) archive_->withdraw(std::exchange(subscriber.ticket, 0));
}

// What was asked for one that is gone needn't be answered: whoever comes and goes can't fill the queue of questions.
StreamSubscribers::Known StreamSubscribers::forget(Known known) {
  withdraw(known->second);
  return subscribers_.erase(known);
}

void StreamSubscribers::replay(const ReplayAnswer& answer) {
  const auto known = subscribers_.find(answer.peer);
  if (known == subscribers_.end() || known->second.ticket != answer.ticket) return;
  Subscriber& subscriber = known->second;
  subscriber.ticket = 0;
  const uint64_t found = answer.window ? answer.window->seq : answer.below;
  Sent sent = Sent::done;
  if (!subscriber.begun) {
    subscriber.place = found;
    sent = tell(answer.peer, subscriber, NoteKind::begin) == Sent::done ? Sent::done : Sent::gone;
    subscriber.begun = true;
    ++totals_.joined;
  } else {
    go_on_from(subscriber, found, totals_.not_replayed);
  }
  if (sent == Sent::done && answer.window && subscriber.sent < subscriber.allowed) {
    sent = send(answer.peer, subscriber, *answer.window);
    totals_.replayed += sent == Sent::done;
  }
  if (sent == Sent::done) sent = advance(answer.peer, subscriber);
  if (sent == Sent::gone) forget(known);
}

Sent StreamSubscribers::advance(const std::string& peer, Subscriber& subscriber) {
  if (run_ == 0 || subscriber.ticket != 0) return Sent::done;
  if (!subscriber.begun) return start(peer, subscriber);
  const uint64_t oldest = history_.oldest();
  if (subscriber.place < oldest && archive_ != nullptr) {
    if (subscriber.sent < subscriber.allowed) ask(peer, subscriber, subscriber.place);
    return Sent::done;
  }
  if (history_.size() > 0) go_on_from(subscriber, oldest, totals_.lost);
  while (subscriber.sent < subscriber.allowed) {
    const KeptWindow* window = history_.at_or_after(subscriber.place);
    if (window == nullptr) break;
    if (const Sent sent = send(peer, subscriber, *window); sent != Sent::done) return sent;
  }
  if (history_.at_or_after(subscriber.place) == nullptr) subscriber.place = std::max(subscriber.place, history_.next());
  if (!ended_ || subscriber.told_end || subscriber.place < history_.next()) return Sent::done;
  const Sent told = tell(peer, subscriber, NoteKind::end);
  subscriber.told_end = told == Sent::done;
  return told;
}

template <class Gone>
void StreamSubscribers::forget_if(Gone gone) {
  for (auto entry = subscribers_.begin(); entry != subscribers_.end();)
    entry = gone(entry->first, entry->second) ? forget(entry) : std::next(entry);
}

void StreamSubscribers::advance() {
  forget_if([&](const std::string& peer, Subscriber& subscriber) { return advance(peer, subscriber) == Sent::gone; });
}

void StreamSubscribers::beat(int64_t now_ns) {
  advance();
  forget_if([&](const std::string& peer, Subscriber& subscriber) {
    if (!subscriber.begun) subscriber.heard_ns = now_ns;  // it has nothing to say yet
    if (now_ns - subscriber.heard_ns > limits_.patience_ns) return true;
    return tell(peer, subscriber, subscriber.told_end ? NoteKind::end : NoteKind::heartbeat) == Sent::gone;
  });
}

void StreamSubscribers::end() {
  ended_ = true;
  advance();
  // For them there is no end, since nothing has begun.
  forget_if([&](const std::string&, const Subscriber& subscriber) { return run_ == 0 && !subscriber.begun; });
}

Sent StreamSubscribers::tell(const std::string& peer, const Subscriber& subscriber, NoteKind kind) {
  StreamNote note;
  note.kind = kind;
  note.run = run_;
  note.number = subscriber.place;
  return sender_.send(peer, note);
}

}  // namespace trama
