#include "libclient/transports/nats_store.hpp"

#include <poll.h>

#include <nlohmann/json.hpp>

#include "libclient/formats/envelope.hpp"
#include "libclient/transports/nats_subjects.hpp"

namespace trama {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatience(2000);
constexpr int kLookMs = 50;
constexpr size_t kMostWaiting = 1024;

std::string last_by(const std::string& subject) { return R"({"last_by_subj":")" + subject + "\"}"; }

}  // namespace

NatsStore::NatsStore(NatsLink& link, const StreamUrl& url, std::function<bool()> closed)
    : link_(link), url_(url), closed_(std::move(closed)), get_(nats_api(url.domain, "DIRECT.GET." + nats_store(url))) {}

// An answer that comes too late is nobody's: each question has a subject of its own.
std::optional<NatsMessage> NatsStore::ask(const std::string& subject, const std::string& body) {
  const std::string answer = link_.inbox() + ".q." + std::to_string(questions_++);
  if (link_.send(subject, body, answer) != NatsSent::done) return std::nullopt;
  const auto until = Clock::now() + kPatience;
  while (!closed_() && link_.connected() && Clock::now() < until) {
    pollfd event{link_.descriptor(), POLLIN, 0};
    poll(&event, 1, kLookMs);
    link_.clear();
    while (auto message = link_.take()) {
      if (message->subject == answer) return message;
      if (waiting_.size() < kMostWaiting) waiting_.push_back(std::move(*message));
    }
  }
  return std::nullopt;
}

std::optional<NatsMessage> NatsStore::take() {
  if (waiting_.empty()) return link_.take();
  NatsMessage message = std::move(waiting_.front());
  waiting_.pop_front();
  return message;
}

NatsStore::Known NatsStore::look() {
  const auto message = ask(nats_api(url_.domain, "STREAM.INFO." + nats_store(url_)), "");
  if (!message || message->bytes.empty()) return Known::no_answer;
  const auto json = nlohmann::json::parse(message->bytes.begin(), message->bytes.end(), nullptr, false);
  if (!json.is_object()) return Known::no_answer;
  if (const auto error = json.find("error"); error != json.end() && error->is_object()) {
    const auto code = error->find("code");
    return code != error->end() && *code == 404 ? Known::missing : Known::no_answer;
  }
  const auto config = json.find("config");
  if (config == json.end() || !config->is_object()) return Known::no_answer;
  const auto direct = config->find("allow_direct");
  return direct != config->end() && *direct == true ? Known::there : Known::unfit;
}

std::optional<NatsMessage> NatsStore::get(const std::string& what) {
  auto message = ask(get_, what);
  if (!message || message->status != 0) return std::nullopt;
  return message;
}

std::optional<StreamNote> NatsStore::note(std::optional<uint64_t> run) {
  const auto message = get(last_by(run ? nats_note_subject(url_, *run) : nats_notes_of_all(url_)));
  if (!message) return std::nullopt;
  auto note = read_note(message->bytes);
  if (!note || note->run == 0 || (run && note->run != *run)) return std::nullopt;
  note->text = {};  // which points into the message
  return *note;
}

std::optional<NatsStore::Stored> NatsStore::stored(std::optional<NatsMessage> message) const {
  if (!message) return std::nullopt;
  const auto envelope = read_envelope(message->bytes);
  if (!envelope) return std::nullopt;
  return Stored{std::move(*message), envelope->seq};
}

std::optional<NatsStore::Stored> NatsStore::last_of(uint64_t run) {
  return stored(get(last_by(nats_windows_of(url_, run))));
}
std::optional<NatsStore::Stored> NatsStore::first_of(uint64_t run, uint64_t from_sequence) {
  return stored(
      get(R"({"seq":)" + std::to_string(from_sequence) + R"(,"next_by_subj":")" + nats_windows_of(url_, run) + "\"}"));
}
std::optional<NatsStore::Stored> NatsStore::window(uint64_t run, uint64_t number) {
  return stored(get(last_by(nats_window_subject(url_, run, number))));
}

// By halves: times ascend with the numbers. A number that is gone is stood for by the next one that isn't.
uint64_t NatsStore::since(uint64_t run, uint64_t begin, uint64_t end, int64_t time_ns) {
  const uint64_t none = end;
  uint64_t found = none;
  while (begin < end && !closed_() && link_.connected()) {
    const uint64_t middle = begin + (end - begin) / 2;
    uint64_t number = middle;
    std::optional<Stored> there;
    while (number < end && !(there = window(run, number)) && link_.connected()) ++number;
    if (!there) {
      end = middle;
      continue;
    }
    const auto envelope = read_envelope(there->message.bytes);
    if (envelope->encoding != EnvelopeEncoding::tail && envelope->last_ns < time_ns) {
      begin = number + 1;
    } else {
      found = number;
      end = middle;
    }
  }
  return found;
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
