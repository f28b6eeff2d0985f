// One connection to a publisher: ZeroMQ's part of zmq_transport.cpp, not meant for others.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <zmq.hpp>

#include "libclient/formats/stream_note.hpp"
#include "libclient/formats/stream_url.hpp"
#include "libclient/subscriber.hpp"

namespace trama {

// A DEALER that connects once and never by itself again: what is lost with a connection is asked for by the number that
// is missing, which only its user knows. Not thread-safe. All of it throws zmq::error_t.
class PublisherSession {
 public:
  PublisherSession(zmq::context_t& context, const StreamUrl& url, const SubscribeOptions& options);
  ~PublisherSession();
  PublisherSession(const PublisherSession&) = delete;
  PublisherSession& operator=(const PublisherSession&) = delete;

  void tell(const StreamNote& note);
  // Waits for a message, a change of the connection, or `descriptor`.
  void wait(int descriptor, int timeout_ms);
  // The next message that is here.
  std::optional<zmq::message_t> receive();
  // False once the connection is gone or couldn't be made. Messages that came before may still be here.
  bool alive();
  // Lets what was told go out, for a moment.
  void close();

 private:
  zmq::socket_t dealer_, events_;
  bool alive_ = true;
};

}  // namespace trama
