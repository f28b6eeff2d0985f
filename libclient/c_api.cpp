// trama.h: options and subscribers, over subscriber.hpp.
#include "libclient/c_api.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

using namespace trama::c_api;
using std::chrono::milliseconds;
using trama::Overflow;
using trama::StartKind;

namespace {

constexpr milliseconds kLongest = std::chrono::hours(1);  // of one wait; longer ones are several

int set(trama_options* options, const char* function, auto change) noexcept try {
  if (options == nullptr) return fail_null(function, "options"), TRAMA_E_ARGUMENT;
  change(options->options);
  return TRAMA_OK;
} catch (const std::exception&) {
  return fail_memory(), TRAMA_E_MEMORY;
}

int start(trama_options* options, const char* function, StartKind kind, uint64_t at) noexcept {
  return set(options, function, [=](trama::SubscribeOptions& to) {
    to.start = kind;
    to.start_at = at;
  });
}

const char* text_or_none(const char* text) { return text != nullptr ? text : ""; }

trama::Next next_within(trama::Subscriber& subscriber, int64_t timeout_ms) {
  const bool for_ever = timeout_ms < 0;
  for (;;) {
    const auto wait = for_ever ? kLongest : std::min(milliseconds(timeout_ms), kLongest);
    trama::Next next = subscriber.next(wait);
    if (!for_ever) timeout_ms -= wait.count();
    if (next.outcome != trama::Outcome::timeout || timeout_ms == 0) return next;
  }
}

}  // namespace

extern "C" {

trama_options* trama_options_new(void) {
  auto* const options = new (std::nothrow) trama_options;
  if (options == nullptr) fail_memory();
  return options;
}

void trama_options_free(trama_options* options) { delete options; }

int trama_options_start_live(trama_options* options) { return start(options, __func__, StartKind::live, 0); }
int trama_options_start_number(trama_options* options, uint64_t number) {
  return start(options, __func__, StartKind::number, number);
}
int trama_options_start_last(trama_options* options, uint64_t windows) {
  return start(options, __func__, StartKind::last, windows);
}
int trama_options_start_time(trama_options* options, int64_t time_ns) {
  if (time_ns < 0) return fail(TRAMA_E_ARGUMENT, "trama_options_start_time: a time before 1970");
  return start(options, __func__, StartKind::time, static_cast<uint64_t>(time_ns));
}

int trama_options_ahead(trama_options* options, size_t windows) {
  return set(options, __func__, [=](auto& to) { to.ahead = windows; });
}
int trama_options_drop(trama_options* options, int drop) {
  return set(options, __func__, [=](auto& to) { to.overflow = drop != 0 ? Overflow::drop : Overflow::wait; });
}
int trama_options_reconnect(trama_options* options, int reconnect) {
  return set(options, __func__, [=](auto& to) { to.reconnect = reconnect != 0; });
}
int trama_options_past_end(trama_options* options, int past_end) {
  return set(options, __func__, [=](auto& to) { to.past_end = past_end != 0; });
}
int trama_options_follow(trama_options* options, int follow) {
  return set(options, __func__, [=](auto& to) { to.follow = follow != 0; });
}
int trama_options_silence(trama_options* options, double seconds) {
  return set(options, __func__, [=](auto& to) { to.silence_s = seconds; });
}
int trama_options_max_bytes(trama_options* options, uint64_t bytes) {
  return set(options, __func__, [=](auto& to) { to.max_bytes = bytes; });
}
int trama_options_max_links(trama_options* options, uint64_t links) {
  return set(options, __func__, [=](auto& to) { to.max_links = links; });
}
int trama_options_keys(trama_options* options, const char* publisher_public, const char* own_secret) {
  if (publisher_public == nullptr) return fail_null(__func__, "publisher_public"), TRAMA_E_ARGUMENT;
  if (own_secret == nullptr) return fail_null(__func__, "own_secret"), TRAMA_E_ARGUMENT;
  return set(options, __func__, [=](auto& to) { to.keys = {publisher_public, own_secret}; });
}

int trama_options_nats_tls(trama_options* options, const char* ca, const char* certificate, const char* key) {
  return set(options, __func__, [=](trama::SubscribeOptions& to) {
    to.nats.ca = text_or_none(ca);
    to.nats.certificate = text_or_none(certificate);
    to.nats.key = text_or_none(key);
  });
}
int trama_options_nats_credentials(trama_options* options, const char* file) {
  return set(options, __func__, [=](auto& to) { to.nats.credentials = text_or_none(file); });
}
int trama_options_nats_login(trama_options* options, const char* file) {
  return set(options, __func__, [=](auto& to) { to.nats.login = text_or_none(file); });
}

trama_subscriber* trama_open(const char* url, const trama_options* options) try {
  if (url == nullptr) return fail_null(__func__, "url"), nullptr;
  auto opened = trama::Subscriber::open(url, options != nullptr ? options->options : trama::SubscribeOptions{});
  if (opened) return new trama_subscriber{std::move(*opened), 0, nullptr};
  return fail(opened.error()), nullptr;
} catch (const std::exception&) {
  return fail_memory(), nullptr;
}

void trama_close(trama_subscriber* subscriber) { delete subscriber; }

int trama_next(trama_subscriber* subscriber, int64_t timeout_ms, trama_window** window) try {
  if (window == nullptr) return fail_null(__func__, "window"), TRAMA_E_ARGUMENT;
  *window = nullptr;
  if (subscriber == nullptr) return fail_null(__func__, "subscriber"), TRAMA_E_ARGUMENT;
  if (!subscriber->next_window) subscriber->next_window = std::make_unique<trama_window>();
  trama::Next next = next_within(subscriber->subscriber, timeout_ms);
  subscriber->missed_at_end += next.missed;
  switch (next.outcome) {
    case trama::Outcome::window:
      subscriber->next_window->window = std::move(next.window);
      *window = subscriber->next_window.release();
      return TRAMA_WINDOW;
    case trama::Outcome::timeout: return TRAMA_TIMEOUT;
    case trama::Outcome::ended: return TRAMA_ENDED;
    case trama::Outcome::error: break;
  }
  return fail(next.error);
} catch (const std::exception&) {
  return fail_memory(), TRAMA_E_MEMORY;
}

int trama_descriptor(const trama_subscriber* subscriber) {
  return ask(subscriber, __func__, "subscriber", -1, [](auto& of) { return of.subscriber.descriptor(); });
}
int trama_connected(const trama_subscriber* subscriber) {
  return ask(subscriber, __func__, "subscriber", 0, [](auto& of) { return of.subscriber.connected() ? 1 : 0; });
}
uint64_t trama_missed_at_end(const trama_subscriber* subscriber) {
  return ask(subscriber, __func__, "subscriber", uint64_t{0}, [](auto& of) { return of.missed_at_end; });
}
uint64_t trama_count_windows(const trama_subscriber* subscriber) {
  return ask(subscriber, __func__, "subscriber", uint64_t{0}, [](auto& of) { return of.subscriber.counts().windows; });
}
uint64_t trama_count_missed(const trama_subscriber* subscriber) {
  return ask(subscriber, __func__, "subscriber", uint64_t{0}, [](auto& of) { return of.subscriber.counts().missed; });
}
uint64_t trama_count_damaged(const trama_subscriber* subscriber) {
  return ask(subscriber, __func__, "subscriber", uint64_t{0}, [](auto& of) { return of.subscriber.counts().damaged; });
}
uint64_t trama_count_sessions(const trama_subscriber* subscriber) {
  return ask(subscriber, __func__, "subscriber", uint64_t{0}, [](auto& of) { return of.subscriber.counts().sessions; });
}
uint64_t trama_tail_verdict(const trama_subscriber* subscriber, int verdict) {
  return ask(subscriber, __func__, "subscriber", uint64_t{0},
             [=](auto& of) { return verdict_of(of.subscriber.tail(), verdict, "trama_tail_verdict"); });
}
}
