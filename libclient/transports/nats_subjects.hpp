// What a stream over NATS is called there: subjects of its windows and notes, the JetStream stream that stores them,
// and the subjects of JetStream's interface. docs/streams.md has them for people.
#pragma once
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "libclient/formats/stream_url.hpp"

namespace trama {

// The most windows that a publisher waits with for the server's word, and so the most that a window may be stored
// behind the ones that follow it.
inline constexpr uint64_t kMostNatsQueue = 4096;

inline std::string nats_run_text(uint64_t run) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(run));
  return text;
}

// SUBJECT.RUN.NUMBER: each window has a subject of its own, by which the server finds it.
inline std::string nats_window_subject(const StreamUrl& url, uint64_t run, uint64_t number) {
  return url.stream + "." + nats_run_text(run) + "." + std::to_string(number);
}
inline std::string nats_windows_of(const StreamUrl& url, uint64_t run) {
  return url.stream + "." + nats_run_text(run) + ".*";
}
// SUBJECT.notes.RUN: the server keeps the last note of each run.
inline std::string nats_note_subject(const StreamUrl& url, uint64_t run) {
  return url.stream + ".notes." + nats_run_text(run);
}
inline std::string nats_notes_of_all(const StreamUrl& url) { return url.stream + ".notes.*"; }
inline std::string nats_everything(const StreamUrl& url) { return url.stream + ".*.*"; }

struct NatsPlace {
  uint64_t run = 0;
  std::optional<uint64_t> number;  // of a window; none: it is a note
};
// Nothing where a subject is not one of this stream's.
inline std::optional<NatsPlace> nats_place(const StreamUrl& url, std::string_view subject) {
  if (!subject.starts_with(url.stream)) return std::nullopt;
  subject.remove_prefix(url.stream.size());
  const size_t dot = subject.rfind('.');
  if (dot == std::string_view::npos || dot < 2 || subject.front() != '.') return std::nullopt;
  const std::string_view first = subject.substr(1, dot - 1), last = subject.substr(dot + 1);
  const bool is_note = first == "notes";
  const std::string_view run_text = is_note ? last : first;
  const auto read = [](std::string_view text, uint64_t& value, int base) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return !text.empty() && error == std::errc() && end == text.data() + text.size();
  };
  NatsPlace place;
  if (run_text.size() != 16 || !read(run_text, place.run, 16)) return std::nullopt;
  if (is_note) return place;
  uint64_t number = 0;
  if (!read(last, number, 10)) return std::nullopt;
  place.number = number;
  return place;
}

// The name of a stream has no dots.
inline std::string nats_store(const StreamUrl& url) {
  if (!url.store.empty()) return url.store;
  std::string name = url.stream;
  for (char& letter : name)
    if (letter == '.') letter = '-';
  return name;
}
inline std::string nats_api(std::string_view domain, std::string_view call) {
  return (domain.empty() ? std::string("$JS.API.") : "$JS." + std::string(domain) + ".API.") + std::string(call);
}

}  // namespace trama
