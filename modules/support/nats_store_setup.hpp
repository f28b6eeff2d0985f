// Brings about the JetStream stream that stores a publisher's windows: makes it where there is none, fits its limits
// where there is one, and has another JetStream domain keep a copy. A conversation by messages of JSON, one at a time;
// knows nothing of connections.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "libclient/formats/stream_url.hpp"

namespace trama {

struct NatsStoreConfig {
  uint64_t bytes = uint64_t{4} << 30;  // beyond them the oldest windows go
  int64_t age_ns = 86'400'000'000'000;
  std::string mirror;  // a domain that keeps a copy of the stream, under the same name; empty: none
};

class NatsStoreSetup {
 public:
  NatsStoreSetup(StreamUrl url, NatsStoreConfig config) : url_(std::move(url)), config_(std::move(config)) {}

  struct Question {
    std::string subject, body;
  };
  // What to ask (again, when no answer came). Nothing: all is done.
  std::optional<Question> question() const;
  // The answer to question(). False: it failed, as error() says; the same may be asked again later.
  bool hear(std::span<const uint8_t> answer);
  void restart() { step_ = Step::make; }

  bool ready() const { return step_ > Step::change; }  // windows are stored

  // What JetStream says of a window that it doesn't take; of an answer that may be anything.
  static std::string refusal_in(std::span<const uint8_t> answer);
  // What the server said, for people; and what mends it.
  const std::string& error() const { return error_; }
  const std::string& hint() const { return hint_; }

 private:
  enum class Step { make, look, change, find_domain, make_mirror, look_at_mirror, change_mirror, done };
  void after_ready();
  void make_again();
  bool fail(std::string error, std::string hint);
  // The configuration of the stream that is there, or of its mirror, as the answer has it.
  bool compare(const std::string& config);
  bool compare_mirror(const std::string& config);
  bool fit_limits(const std::string& config);

  const StreamUrl url_;
  const NatsStoreConfig config_;
  Step step_ = Step::make;
  std::string changed_;  // the configuration that is there, with our limits
  std::string domain_;   // that the stream is in
  std::string error_, hint_;
};

}  // namespace trama
