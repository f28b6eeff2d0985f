// The class behind nats_transport.cpp: one subscriber's stream over NATS. Not meant for others.
//
//   nats_transport.cpp        sessions with the server, and what is heard there
//   nats_transport_runs.cpp   which run is followed: where it begins, and when the next one has
//   nats_transport_gaps.cpp   what didn't come: asked for, given up, delivered in order
#pragma once
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <thread>

#include "libclient/transports/nats_link.hpp"
#include "libclient/transports/nats_order.hpp"
#include "libclient/transports/nats_store.hpp"
#include "libclient/transports/nats_subjects.hpp"
#include "libclient/transports/transport.hpp"

namespace trama {

inline int64_t since_start(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

class NatsTransport final : public Transport {
 public:
  NatsTransport(StreamUrl url, NatsAccess access, SubscribeOptions options, StreamQueue& queue,
                TransportCounts& counts);
  ~NatsTransport() override { thread_.join(); }

 private:
  using Clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;
  enum class After { again, over };
  static constexpr milliseconds kFirstPause{50}, kLongestPause{5000};  // between two tries to connect
  static constexpr milliseconds kNoteAgain{100}, kLookAgain{1000};
  static constexpr int kPatience = 3;  // times the silence: for a store that has been there and doesn't answer

  void work();
  After session();
  bool connect(NatsLink& link);
  After follow();
  bool begin_from_store();
  bool begin_again();
  void begin(uint64_t run, uint64_t number);
  bool begin_live(uint64_t run, uint64_t number);
  std::optional<uint64_t> begin_at(uint64_t run, uint64_t allowed);
  After hear(NatsMessage message);
  void hear_answer(const NatsStore::Answer& about, NatsMessage message);
  After hear_live(const NatsPlace& place, NatsMessage message);
  void hear_note(const StreamNote& note, bool stored);
  bool is_followed(uint64_t run, uint64_t head);
  std::optional<NatsWindow> read(const NatsPlace& place, NatsMessage message);
  void leave_run(uint64_t next_run);
  void remember_left(uint64_t run);
  void learn_rest();
  After advance();
  void ask();
  void look();
  void ask_without_store(Clock::time_point now);
  void pass_without_store(uint64_t number);
  bool nobody_stores(Clock::time_point now);
  void pass_many_gone();
  void deliver();
  bool has_room() const { return options_.overflow == Overflow::drop || queue_.windows() < options_.ahead; }
  After fail(std::string text, std::string hint = "");
  void put(StreamItem::Kind kind, uint64_t number);
  void pause();

  const StreamUrl url_;
  const NatsAccess access_;
  const SubscribeOptions options_;
  StreamQueue& queue_;
  TransportCounts& counts_;
  const milliseconds silence_;
  NatsOrder order_;
  NatsLink* link_ = nullptr;    // of this session
  NatsStore* store_ = nullptr;  // of this session
  NatsStore::Known store_known_ = NatsStore::Known::no_answer;
  bool store_was_there_ = false;
  bool begun_ = false;                     // in this session
  uint64_t run_ = 0;                       // that is followed; 0: none yet
  uint64_t next_run_ = 0, next_head_ = 0;  // that has begun, while the rest of the one before is still read
  std::optional<uint64_t> end_;            // the number behind the last one of the run
  uint64_t passed_ = 0;                    // told to the queue
  std::optional<uint64_t> delivered_;      // of this run
  std::deque<uint64_t> left_;              // runs that are over
  Clock::time_point heard_, looked_, began_, asked_note_, answered_, asked_rest_, left_since_;
  bool rest_known_ = false;  // when another run has begun: all of this one that the store has
  bool gap_ = false, many_gone_ = false;
  milliseconds pause_ = kFirstPause;
  std::string why_;     // the session ended
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace trama
