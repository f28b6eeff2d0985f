// What JetStream keeps of a stream, and how it is asked: one question at a time, with the answer waited for; or many
// for windows, whose answers come among the other messages. Part of nats_transport.cpp, not meant for others.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "libclient/formats/stream_note.hpp"
#include "libclient/transports/nats_link.hpp"

namespace trama {

class NatsStore {
 public:
  // `closed` ends every wait. All of them outlive the store.
  NatsStore(NatsLink& link, const StreamUrl& url, std::function<bool()> closed);

  enum class Known {
    there,
    missing,    // JetStream answers, and has no such stream
    no_answer,  // no JetStream, or none that can be reached now
    unfit,      // the stream doesn't let single messages be read
  };
  Known look();

  // The last note of a run, or of whichever run there is.
  std::optional<StreamNote> note(std::optional<uint64_t> run);
  // A stored window; nothing where there is none.
  struct Stored {
    NatsMessage message;
    uint64_t number = 0;
  };
  std::optional<Stored> last_of(uint64_t run);
  std::optional<Stored> first_of(uint64_t run, uint64_t from_sequence = 1);
  std::optional<Stored> window(uint64_t run, uint64_t number);
  // The first stored window of a run, between these two numbers, with packets at this time or later; `end` without one.
  uint64_t since(uint64_t run, uint64_t begin, uint64_t end, int64_t time_ns);

  // Questions whose answers come as messages; answer() tells what they are about.
  bool ask_window(uint64_t run, uint64_t number);
  bool ask_note(uint64_t run);
  struct Answer {
    bool is_note = false;
    uint64_t run = 0, number = 0;
  };
  std::optional<Answer> answer(const NatsMessage& message) const;

  // What came while an answer was waited for: to be taken before what the link has.
  std::optional<NatsMessage> take();

 private:
  std::optional<NatsMessage> ask(const std::string& subject, const std::string& body);
  std::optional<NatsMessage> get(const std::string& what);
  std::optional<Stored> stored(std::optional<NatsMessage> message) const;

  NatsLink& link_;
  const StreamUrl& url_;
  const std::function<bool()> closed_;
  const std::string get_;  // the subject that single messages are asked for at
  uint64_t questions_ = 0;
  std::deque<NatsMessage> waiting_;
};

}  // namespace trama
