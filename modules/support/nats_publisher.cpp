#include "modules/support/nats_publisher.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <stdexcept>

#include "libclient/transports/nats_subjects.hpp"
#include "modules/support/stream_publisher.hpp"

namespace trama {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;
constexpr int64_t kHoldNs = 1'000'000'000;        // for a store that is being made, before windows go out without it
constexpr int64_t kAskAgainNs = 2'000'000'000;    // a question about the store
constexpr int64_t kRefusedNs = 1'000'000'000;     // a window that the store could not take
constexpr int64_t kOpenAgainNs = 2'000'000'000;   // after a server that doesn't let us in
constexpr int64_t kSoonNs = 20 * kMillisecondNs;  // a note about what was lost
constexpr int64_t kLastWordsNs = 500'000'000;     // for the server to have had what was sent last
constexpr int64_t kUntilNoteNs = 2'000'000'000;   // without a server, before it is said
constexpr size_t kWordsAhead = kMostNatsQueue + 64;
constexpr uint64_t kLongestWord = 64 << 10;
constexpr uint64_t kHeaderBytes = 256;  // what a message has besides the envelope, generously

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string windows(uint64_t count) { return std::to_string(count) + (count == 1 ? " window" : " windows"); }

}  // namespace

Expected<MakeOutlet> open_nats_outlet(const NatsConfig& config) {
  if (!nats_available()) return failure("can't publish at " + config.url.text() + ": " + kNoNats, kNoNatsHint);
  return MakeOutlet([config](const SayDiagnostic& say) { return std::make_unique<NatsPublisher>(config, say); });
}

NatsPublisher::NatsPublisher(const NatsConfig& config, SayDiagnostic say)
    : config_(config),
      say_(std::move(say)),
      at_(config.url.text()),
      run_(new_stream_run()),
      outbox_(config.queue),
      setup_(config.url, config.store) {
  open_again(now_ns());
}

void NatsPublisher::open_again(int64_t now) {
  link_.reset();
  auto link = NatsLink::open(config_.url, config_.access, true);
  if (!link) throw std::runtime_error(link.error().text);
  link_ = std::move(*link);
  connections_ = 0;
  connected_ = false;
  hold_until_ns_ = now + kUntilNoteNs;
}

bool NatsPublisher::publish(const Envelope& given) {
  Envelope envelope = given;
  envelope.run = run_;
  envelope.stream = config_.url.stream;
  StreamFrame frame = make_frame(envelope, config_.max_bytes);
  const bool fits = frame.bytes != nullptr;
  if (fits)
    outbox_.add(envelope.seq, std::move(frame));
  else
    pass(envelope.seq);
  advance();
  return fits;
}

void NatsPublisher::pass(uint64_t seq) {
  outbox_.pass(seq);
  next_beat_ns_ = std::min(next_beat_ns_, now_ns() + kSoonNs);
}

void NatsPublisher::serve(int wake_fd) {
  wait(wake_fd, std::min(next_deadline(), now_ns() + config_.beat_ns));
  advance();
}

void NatsPublisher::wait(int wake_fd, int64_t until_ns) {
  const int64_t left_ms = std::max<int64_t>(0, until_ns - now_ns()) / kMillisecondNs;
  std::array<pollfd, 2> events{{{link_->descriptor(), POLLIN, 0}, {wake_fd, POLLIN, 0}}};
  poll(events.data(), events.size(), static_cast<int>(std::min<int64_t>(left_ms, 1000)) + 1);
}

int64_t NatsPublisher::next_deadline() const {
  if (!connected_) return std::max(hold_until_ns_, open_again_ns_);
  int64_t next = std::min(next_beat_ns_, outbox_.next_due_ns());
  if (setup_.question()) next = std::min(next, setup_due_ns_);
  // What is due already, and can't go now, waits for an answer or for a while.
  return std::max(next, now_ns() + 10 * kMillisecondNs);
}

void NatsPublisher::advance() {
  link_->clear();
  const int64_t now = now_ns();
  see_connection(now);
  hear();
  if (!connected_) return;
  if (setup_.question() && now >= setup_due_ns_) ask_setup(now);
  send_windows(now);
  if (now >= next_beat_ns_) {
    beat(NoteKind::heartbeat);
    next_beat_ns_ = now + config_.beat_ns;
  }
}

// Every new connection begins with the store: it may be another server's.
void NatsPublisher::see_connection(int64_t now) {
  const bool connected = link_->connected();
  if (connected && link_->connections() != connections_) {
    if (connections_ == 0) link_->subscribe(link_->inbox() + ".>", kWordsAhead, kLongestWord);
    connections_ = link_->connections();
    outbox_.everything_again();
    setup_.restart();
    setup_due_ns_ = next_beat_ns_ = now;
    hold_until_ns_ = now + kHoldNs;
    say_({Severity::note, {}, (greeted_ ? "connected again to " : "publishing at ") + at_, ""});
    greeted_ = true;
    said_connection_.clear();
  }
  if (connected_ && !connected) {
    hold_until_ns_ = now + kUntilNoteNs;
    outbox_.everything_again();
  }
  connected_ = connected;
  if (connected) return;
  if (now >= hold_until_ns_)
    say_once(said_connection_, Severity::warning, "no connection to " + at_ + ": " + link_->why(),
             "it is tried again and again; of windows that come meanwhile, the last " + std::to_string(config_.queue) +
                 " wait (`queue`)");
  // A server that doesn't let us in ends it all, as far as the library goes.
  if (!link_->over()) return;
  if (open_again_ns_ == 0) open_again_ns_ = now + kOpenAgainNs;
  if (now < open_again_ns_) return;
  open_again_ns_ = 0;
  open_again(now);
}

void NatsPublisher::ask_setup(int64_t now) {
  const auto question = setup_.question();
  setup_due_ns_ = now + kAskAgainNs;
  link_->send(question->subject, question->body, link_->inbox() + ".s." + std::to_string(++setup_question_));
}

void NatsPublisher::send_windows(int64_t now) {
  if (!setup_.ready() && now < hold_until_ns_) return;
  while (NatsOutbox::Entry* entry = outbox_.due(now, setup_.ready())) {
    const uint64_t seq = entry->seq;
    if (entry->frame.size + kHeaderBytes > link_->most_bytes()) {
      refuse(seq);
      continue;
    }
    const auto sent =
        link_->send(nats_window_subject(config_.url, run_, seq), {entry->frame.bytes.get(), entry->frame.size},
                    link_->inbox() + ".a." + std::to_string(seq), nats_run_text(run_) + "." + std::to_string(seq));
    if (sent == NatsSent::too_long) {
      refuse(seq);
    } else if (sent == NatsSent::done) {
      outbox_.sent(*entry, now + config_.answer_ns);
    } else {
      return;
    }
  }
}

void NatsPublisher::refuse(uint64_t seq) {
  outbox_.refuse_too_long(seq);
  next_beat_ns_ = std::min(next_beat_ns_, now_ns() + kSoonNs);
  say_once(said_length_, Severity::warning,
           "a window is longer than the NATS server takes (max_payload: " + std::to_string(link_->most_bytes()) +
               " bytes): it and others like it are not sent",
           "set max_payload = 8MB in the server's configuration, or encoding = \"compact\" in the stage `serialize`");
}

void NatsPublisher::hear() {
  const std::string words = link_->inbox() + ".a.", setup = link_->inbox() + ".s." + std::to_string(setup_question_);
  while (const auto message = link_->take()) {
    if (message->subject.starts_with(words)) {
      uint64_t seq = 0;
      const std::string_view text = message->subject.substr(words.size());
      std::from_chars(text.data(), text.data() + text.size(), seq);
      hear_word(seq, *message);
    } else if (message->subject == setup) {
      hear_setup(*message);
    } else if (message->subject == link_->inbox() + ".e" && message->status == 0) {
      ++end_stored_;
    }
  }
}

void NatsPublisher::hear_setup(const NatsMessage& message) {
  const bool was_ready = setup_.ready();
  if (setup_.hear(message.bytes)) {
    setup_due_ns_ = 0;
    if (!setup_.question()) said_setup_.clear();
    if (!was_ready && setup_.ready()) outbox_.everything_again();
    return;
  }
  hold_until_ns_ = 0;  // there is nothing to wait for
  say_once(said_setup_, Severity::warning,
           at_ + ": " + setup_.error() +
               (setup_.ready() ? "; the stream is stored, and not mirrored" : "; windows go out, and are not stored"),
           setup_.hint());
}

void NatsPublisher::hear_word(uint64_t seq, const NatsMessage& message) {
  const std::string_view text(reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size());
  const bool is_error = text.find("\"error\"") != std::string_view::npos;
  if (message.status == 0 && !is_error && text.find("\"stream\"") != std::string_view::npos) return outbox_.stored(seq);
  outbox_.later(seq, now_ns() + kRefusedNs);
  if (message.status != 0 && setup_.ready()) {  // nobody stores it any more
    setup_.restart();
    setup_due_ns_ = 0;
  }
  if (!is_error) return;
  const std::string what = NatsStoreSetup::refusal_in(message.bytes);
  say_once(said_store_, Severity::warning, at_ + ": a window could not be stored: " + what, "it is tried again");
}

void NatsPublisher::beat(NoteKind kind, const std::string& answer_to) {
  StreamNote note;
  note.kind = kind;
  note.run = run_;
  note.number = kind == NoteKind::end ? outbox_.next() : outbox_.settled();
  note.allowed = kind == NoteKind::end ? outbox_.next() : outbox_.unsent();
  std::array<uint8_t, kMostNoteBytes> bytes;
  const size_t size = write_note(note, bytes);
  link_->send(nats_note_subject(config_.url, run_), std::span(bytes.data(), size), answer_to);
}

void NatsPublisher::finish(int linger_ms) {
  const int64_t until = now_ns() + linger_ms * kMillisecondNs;
  for (advance(); !outbox_.empty() && now_ns() < until; advance()) wait(-1, std::min(until, next_deadline()));
  outbox_.give_up_rest();
  for (int64_t again = 0; end_stored_ == 0 && connected_; hear()) {
    const int64_t now = now_ns();
    if (now >= again) {
      beat(NoteKind::end, link_->inbox() + ".e");
      again = now + kAskAgainNs;
    }
    if (now >= until || !setup_.ready() || !link_->connected()) break;
    wait(-1, std::min(until, again));
    link_->clear();
  }
  // It takes a moment on a busy machine, and without it the end might stay here.
  link_->flush(static_cast<int>(std::max<int64_t>(kLastWordsNs, until - now_ns()) / kMillisecondNs));
  link_.reset();
}

OutletCounts NatsPublisher::counts() const {
  OutletCounts counts;
  counts.waiting = outbox_.size();
  counts.stored = outbox_.totals().stored;
  counts.not_stored = outbox_.totals().given_up + outbox_.totals().too_long;
  return counts;
}

std::optional<Diagnostic> NatsPublisher::account() const {
  const NatsOutbox::Totals& totals = outbox_.totals();
  const uint64_t lost = counts().not_stored;
  if (lost == 0)
    return totals.stored == 0
               ? std::nullopt
               : std::optional(Diagnostic{Severity::note, {}, windows(totals.stored) + " stored at " + at_, ""});
  return Diagnostic{
      Severity::warning,
      {},
      at_ + ": " + windows(totals.stored) + " stored; of " + std::to_string(lost) + " it is not known that they are" +
          (totals.too_long > 0 ? " (" + std::to_string(totals.too_long) + " were too long)" : ""),
      totals.given_up > 0 ? "a longer `queue` bridges longer losses of the connection, a longer `linger` a "
                            "slow end"
                          : ""};
}

void NatsPublisher::say_once(std::string& said, Severity severity, std::string text, std::string hint) {
  if (said == text) return;
  said = text;
  say_({severity, {}, std::move(text), std::move(hint)});
}

}  // namespace trama
