// What JetStream keeps of a stream, and how it is asked: one question at a time, with the answer waited for; or many
// for windows, whose answers come among the other messages. Part of nats_transport.cpp, not meant for others.
#pragma once
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "libclient/formats/stream_note.hpp"
#include "libclient/transports/nats_link.hpp"

namespace trama {

// What came of a question: it may be there, or not, or nobody said. The last says nothing of what is stored.
template <class What>
struct NatsFound {
  std::optional<What> what;
  bool answered = false;
  explicit operator bool() const { return what.has_value(); }
  const What& operator*() const { return *what; }
  const What* operator->() const { return &*what; }
};

class NatsStore {
 public:
  // `closed` ends every wait. No more than `most_bytes` of other messages are kept while an answer is waited for. All
  // of them outlive the store.
  NatsStore(NatsLink& link, const StreamUrl& url, size_t most_bytes, std::function<bool()> closed);

  enum class Known {
    there,
    missing,    // no such stream, or no JetStream at all, as is said
    no_answer,  // that can be made sense of
    unfit,      // the stream doesn't let single messages be read
  };
  Known look();

  // The last note of a run, or of whichever run there is.
  struct Note {
    StreamNote note;
    uint64_t sequence = 0;  // in the store
  };
  NatsFound<Note> note(std::optional<uint64_t> run);
  // A stored window.
  struct Stored {
    NatsMessage message;
    uint64_t number = 0;
  };
  NatsFound<Stored> last_of(uint64_t run);
  NatsFound<Stored> first_of(uint64_t run, uint64_t from_sequence = 1);
  // The number of the first stored window of a run with packets at this time or later; the one behind the last without
  // one.
  NatsFound<uint64_t> since(uint64_t run, const Stored& first, const Stored& last, int64_t time_ns);
  NatsFound<Stored> window(uint64_t run, uint64_t number);

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
  NatsFound<NatsMessage> get(const std::string& what);
  NatsFound<Stored> get_window(uint64_t run, const std::string& what);
  void keep(NatsMessage message);

  NatsLink& link_;
  const StreamUrl& url_;
  const size_t most_bytes_;
  const std::function<bool()> closed_;
  const std::string get_;  // the subject that single messages are asked for at
  uint64_t questions_ = 0;
  std::deque<NatsMessage> waiting_;
  size_t waiting_bytes_ = 0;
};

}  // namespace trama
