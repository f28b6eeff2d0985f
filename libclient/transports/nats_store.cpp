#include "libclient/transports/nats_store.hpp"

#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "libclient/formats/envelope.hpp"
#include "libclient/transports/nats_subjects.hpp"

namespace trama {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatience(2000);
constexpr int kStoreLookMs = 50;
constexpr size_t kMostWaiting = 1024, kMostNotesWaiting = 4096;
constexpr size_t kMostJson = 64 << 10;
constexpr int kNoJetStream = 10076, kNoJetStreamForAccount = 10039;  // what JetStream's errors are called

std::string last_by(const std::string& subject) { return R"({"last_by_subj":")" + subject + "\"}"; }

}  // namespace

NatsStore::NatsStore(NatsLink& link, const StreamUrl& url, size_t most_bytes, std::function<bool()> closed)
    : link_(link),
      url_(url),
      most_bytes_(most_bytes),
      closed_(std::move(closed)),
      get_(nats_api(url.domain, "DIRECT.GET." + nats_store(url))) {}

// An answer that comes too late is nobody's: each question has a subject of its own.
std::optional<NatsMessage> NatsStore::ask(const std::string& subject, const std::string& body) {
  const std::string answer = link_.inbox() + ".q." + std::to_string(questions_++);
  if (link_.send(subject, body, answer) != NatsSent::done) return std::nullopt;
  const auto until = Clock::now() + kPatience;
  while (!closed_() && link_.connected() && Clock::now() < until) {
    pollfd event{link_.descriptor(), POLLIN, 0};
    poll(&event, 1, kStoreLookMs);
    link_.clear();
    while (auto message = link_.take()) {
      if (message->subject == answer) return message;
      keep(std::move(*message));
    }
  }
  return std::nullopt;
}

// Windows that there is no room for are missing then, and asked for as others are; notes are short.
void NatsStore::keep(NatsMessage message) {
  const size_t bytes = message.bytes.size();
  const bool is_short = bytes <= kMostNoteBytes;
  if (waiting_.size() >= (is_short ? kMostNotesWaiting : kMostWaiting)) return;
  if (!is_short && waiting_bytes_ + bytes > most_bytes_) return;
  waiting_bytes_ += bytes;
  waiting_.push_back(std::move(message));
}

std::optional<NatsMessage> NatsStore::take() {
  if (waiting_.empty()) return link_.take();
  NatsMessage message = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= message.bytes.size();
  return message;
}

NatsStore::Known NatsStore::look() {
  const auto message = ask(nats_api(url_.domain, "STREAM.INFO." + nats_store(url_)), "");
  if (!message) return Known::no_answer;
  if (message->status == 503) return Known::missing;
  if (message->bytes.empty() || message->bytes.size() > kMostJson) return Known::no_answer;
  const auto json = nlohmann::json::parse(message->bytes.begin(), message->bytes.end(), nullptr, false);
  if (!json.is_object()) return Known::no_answer;
  if (const auto error = json.find("error"); error != json.end() && error->is_object()) {
    const auto code = error->find("code"), kind = error->find("err_code");
    if (code != error->end() && *code == 404) return Known::missing;
    const bool none = kind != error->end() && (*kind == kNoJetStream || *kind == kNoJetStreamForAccount);
    return none ? Known::missing : Known::no_answer;
  }
  const auto config = json.find("config");
  if (config == json.end() || !config->is_object()) return Known::no_answer;
  const auto direct = config->find("allow_direct");
  return direct != config->end() && *direct == true ? Known::there : Known::unfit;
}

NatsFound<NatsMessage> NatsStore::get(const std::string& what) {
  auto message = ask(get_, what);
  if (!message || (message->status != 0 && message->status != 404 && message->status != kNatsTooLong)) return {};
  if (message->status != 0) return {{}, true};
  return {std::move(message), true};
}

NatsFound<NatsStore::Note> NatsStore::note(std::optional<uint64_t> run) {
  const auto message = get(last_by(run ? nats_note_subject(url_, *run) : nats_notes_of_all(url_)));
  if (!message) return {{}, message.answered};
  auto note = read_note(message->bytes);
  if (!note || note->run == 0 || (run && note->run != *run)) return {{}, true};
  note->text = {};  // which points into the message
  return {Note{*note, message->sequence}, true};
}

NatsFound<NatsStore::Stored> NatsStore::get_window(uint64_t run, const std::string& what) {
  auto message = get(what);
  if (!message) return {{}, message.answered};
  const auto envelope = read_envelope(message->bytes);
  if (!envelope || envelope->run != run) return {{}, true};
  return {Stored{std::move(*message.what), envelope->seq}, true};
}

NatsFound<NatsStore::Stored> NatsStore::last_of(uint64_t run) {
  return get_window(run, last_by(nats_windows_of(url_, run)));
}
NatsFound<NatsStore::Stored> NatsStore::first_of(uint64_t run, uint64_t from_sequence) {
  return get_window(
      run, R"({"seq":)" + std::to_string(from_sequence) + R"(,"next_by_subj":")" + nats_windows_of(url_, run) + "\"}");
}
NatsFound<NatsStore::Stored> NatsStore::window(uint64_t run, uint64_t number) {
  return get_window(run, last_by(nats_window_subject(url_, run, number)));
}

// By halves of the places in the store: times ascend with them. The store itself finds the next window behind a place
// that has none of this run.
NatsFound<uint64_t> NatsStore::since(uint64_t run, const Stored& first, const Stored& last, int64_t time_ns) {
  uint64_t found = last.number + 1, begin = first.message.sequence, end = last.message.sequence + 1;
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    const auto there = first_of(run, middle);
    if (!there.answered) return {};
    if (!there) {
      end = middle;
      continue;
    }
    const auto envelope = read_envelope(there->message.bytes);
    if (envelope->encoding != EnvelopeEncoding::tail && envelope->last_ns < time_ns) {
      begin = std::max(middle, there->message.sequence) + 1;
    } else {
      found = there->number;
      end = middle;
    }
  }
  return {found, true};
}

bool NatsStore::ask_window(uint64_t run, uint64_t number) {
  const std::string answer = link_.inbox() + ".w." + nats_run_text(run) + "." + std::to_string(number);
  return link_.send(get_, last_by(nats_window_subject(url_, run, number)), answer) == NatsSent::done;
}
bool NatsStore::ask_note(uint64_t run) {
  return link_.send(get_, last_by(nats_note_subject(url_, run)), link_.inbox() + ".notes." + nats_run_text(run)) ==
         NatsSent::done;
}

std::optional<NatsStore::Answer> NatsStore::answer(const NatsMessage& message) const {
  StreamUrl about;  // answers are called as what they answer
  about.stream = link_.inbox();
  if (const auto note = nats_place(about, message.subject); note && !note->number) return Answer{true, note->run, 0};
  about.stream += ".w";
  const auto window = nats_place(about, message.subject);
  if (!window || !window->number) return std::nullopt;
  return Answer{false, window->run, *window->number};
}

}  // namespace trama
