// Which run of a publisher a subscriber over NATS follows.
#include <algorithm>
#include <utility>

#include "libclient/transports/nats_transport.hpp"

namespace trama {
namespace {

constexpr size_t kRunsLeft = 64;  // that are remembered

}  // namespace

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
    began_ = Clock::now();
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

// Which run a message is of: false where it isn't the one that is followed now. Runs don't come back.
bool NatsTransport::is_followed(uint64_t run, uint64_t head) {
  if (run_ == 0 || run == run_) return true;
  if (std::find(left_.begin(), left_.end(), run) != left_.end()) return false;
  if (next_run_ != 0 && next_run_ != run) remember_left(next_run_);
  if (next_run_ != run) leave_run(run);
  next_head_ = std::max(next_head_, head);
  return false;
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

}  // namespace trama
