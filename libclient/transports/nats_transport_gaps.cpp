// What of a run over NATS didn't come live: asked for, given up, and brought into order.
#include <utility>

#include "libclient/transports/nats_transport.hpp"

namespace trama {
namespace {

constexpr size_t kManyGone = 64;  // numbers in a row, before the store is asked what comes behind them

}  // namespace

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

// What was known may not be so any more: a publisher makes the store when it comes, before it sends its first window.
bool NatsTransport::nobody_stores(Clock::time_point now) {
  if (store_known_ == NatsStore::Known::missing && (looked_ < began_ || now - looked_ > kLookAgain)) look();
  return store_known_ == NatsStore::Known::missing && !store_was_there_;
}

// A window came, and others before it didn't. Without a store they are lost: to wait for them would lose those that
// come meanwhile, of which no more can be kept than may wait here.
void NatsTransport::pass_without_store(uint64_t number) {
  if (!nobody_stores(Clock::now())) return;
  for (int i = 0; i < 2; ++i) {  // those before it that came go first
    order_.give_up_below(number);
    deliver();
  }
}

// Where there is no store, and has been none for long, what is missing stays so. One that only doesn't answer may have
// it yet.
void NatsTransport::ask_without_store(Clock::time_point now) {
  if (looked_ < answered_ || now - looked_ > kLookAgain) look();
  if (store_known_ != NatsStore::Known::missing) return;
  // A heartbeat may tell of a window that is still on its way.
  if (now - answered_ > (store_was_there_ ? kPatience * silence_ : kLookAgain)) order_.give_up();
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

}  // namespace trama
