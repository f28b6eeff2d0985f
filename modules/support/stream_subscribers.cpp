#include "modules/support/stream_subscribers.hpp"

#include <algorithm>

#include "libclient/formats/envelope.hpp"

namespace trama {

StreamSubscribers::StreamSubscribers(StreamLimits limits, uint64_t run, const StreamHistory& history,
                                     StreamSender& sender)
    : limits_(std::move(limits)), run_(run), history_(history), sender_(sender) {}

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
    if (known != subscribers_.end()) subscribers_.erase(known);
  } else if (note->kind != NoteKind::allow) {
    ++totals_.nonsense;
  } else if (known == subscribers_.end()) {
    refuse(peer, Refusal::unknown, "not subscribed, or silent for too long");
  } else {
    known->second.heard_ns = now_ns;
    Subscriber& subscriber = known->second;
    subscriber.allowed = std::max(subscriber.allowed, std::min(note->allowed, subscriber.sent + limits_.ahead));
    if (advance(peer, subscriber) == Sent::gone) subscribers_.erase(known);
  }
}

void StreamSubscribers::subscribe(const std::string& peer, const StreamNote& note, int64_t now_ns) {
  // Once for each connection: what was allowed before would else begin anew, and frames with it.
  if (subscribers_.contains(peer)) return (void)++totals_.nonsense;
  if (!note.text.empty() && note.text != limits_.stream)
    return refuse(peer, Refusal::stream, "this publisher has no stream of that name");
  if (subscribers_.size() >= limits_.subscribers)
    return refuse(peer, Refusal::full, "this publisher has as many subscribers as it takes");
  Subscriber subscriber{
      .place = place_for(note), .allowed = std::min<uint64_t>(note.allowed, limits_.ahead), .heard_ns = now_ns};
  keep_up(subscriber);
  if (tell(peer, subscriber, NoteKind::begin) != Sent::done) return;
  ++totals_.joined;
  if (advance(peer, subscriber) != Sent::gone) subscribers_.insert_or_assign(peer, subscriber);
}

void StreamSubscribers::refuse(const std::string& peer, Refusal reason, std::string_view text) {
  ++totals_.refused;
  StreamNote note;
  note.kind = NoteKind::refused;
  note.refusal = reason;
  note.text = text;
  sender_.send(peer, note);
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

// A place that has fallen out of the history.
void StreamSubscribers::keep_up(Subscriber& subscriber) {
  const KeptWindow* first = history_.at_or_after(0);
  if (first != nullptr) subscriber.place = std::max(subscriber.place, first->seq);
}

Sent StreamSubscribers::advance(const std::string& peer, Subscriber& subscriber) {
  const uint64_t place = subscriber.place;
  keep_up(subscriber);
  totals_.lost += subscriber.place - place;
  while (subscriber.sent < subscriber.allowed) {
    const KeptWindow* window = history_.at_or_after(subscriber.place);
    if (window == nullptr) break;
    const Sent sent = sender_.send(peer, window->frame);
    if (sent != Sent::done) return sent;
    ++subscriber.sent;
    ++totals_.sent;
    subscriber.place = window->seq + 1;
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
    entry = gone(entry->first, entry->second) ? subscribers_.erase(entry) : std::next(entry);
}

void StreamSubscribers::advance() {
  forget_if([&](const std::string& peer, Subscriber& subscriber) { return advance(peer, subscriber) == Sent::gone; });
}

void StreamSubscribers::beat(int64_t now_ns) {
  advance();
  forget_if([&](const std::string& peer, Subscriber& subscriber) {
    if (now_ns - subscriber.heard_ns > limits_.patience_ns) return true;
    return tell(peer, subscriber, subscriber.told_end ? NoteKind::end : NoteKind::heartbeat) == Sent::gone;
  });
}

void StreamSubscribers::end() {
  ended_ = true;
  advance();
}

Sent StreamSubscribers::tell(const std::string& peer, const Subscriber& subscriber, NoteKind kind) {
  StreamNote note;
  note.kind = kind;
  note.run = run_;
  note.number = subscriber.place;
  return sender_.send(peer, note);
}

}  // namespace trama
