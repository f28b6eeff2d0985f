// nats:// and nats+tls://: windows come live as they are published, and from the server's store (JetStream) where
// they didn't: what was lost on the way or while there was no connection, and what a subscriber wants that begins
// earlier or was slow. A thread keeps a session with the server, and makes another when nothing is heard any more.
//
// A slow subscriber with Overflow::wait lets live windows pass by, and asks for them when it has room: nothing waits
// here but what it may have ahead, and once again as much that came out of order.
#include "libclient/transports/nats_transport.hpp"

#include <poll.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "libclient/formats/envelope.hpp"

namespace trama {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStep(100);
constexpr size_t kNatsNotesAhead = 64;  // besides windows

}  // namespace

NatsTransport::NatsTransport(StreamUrl url, NatsAccess access, SubscribeOptions options, StreamQueue& queue,
                             TransportCounts& counts)
    : url_(std::move(url)),
      access_(std::move(access)),
      options_(std::move(options)),
      queue_(queue),
      counts_(counts),
      silence_(static_cast<int64_t>(std::min(options_.silence_s, 1e6) * 1e3)),
      order_(options_.ahead),
      thread_([this] { work(); }) {}

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
  const size_t most = 2 * options_.ahead + kNatsNotesAhead;
  if (link.connected() && link.subscribe(link.inbox() + ".>", most, options_.max_bytes) &&
      link.subscribe(nats_everything(url_), most, options_.max_bytes) && link.flush(static_cast<int>(silence_.count())))
    return true;
  why_ = "no connection: " + link.why();
  return false;
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
  if (*place.number > order_.next()) pass_without_store(*place.number);
  // One that can't be read is asked for, when more has come: the store may have it whole.
  if (auto window = read(place, std::move(message))) order_.keep(*place.number, std::move(*window));
  return After::again;
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

FormatExpected<std::unique_ptr<Transport>> follow_nats(const StreamUrl& url, const SubscribeOptions& options,
                                                       StreamQueue& queue, TransportCounts& counts) {
  if (!nats_available()) return format_failure(url.text() + ": " + kNoNats, kNoNatsHint);
  const NatsFiles& files = options.nats;
  auto access = NatsAccess::load(files.ca, files.certificate, files.key, files.credentials, files.login);
  if (!access) return tl::unexpected(std::move(access.error()));
  return std::make_unique<NatsTransport>(url, std::move(*access), options, queue, counts);
}

}  // namespace trama
