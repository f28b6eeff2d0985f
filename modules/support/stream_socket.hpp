// The ZeroMQ ROUTER that subscribers connect to. A ROUTER knows each of them, says when one can't be sent to, and never
// waits for one, nor lets one that is slow hold up the others.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "modules/support/stream_listener.hpp"
#include "modules/support/stream_subscribers.hpp"

namespace trama {

// Keys of CURVE (RFC 26 of ZeroMQ) as ZeroMQ writes them: 40 characters of Z85.
struct StreamKeys {
  std::string secret;                // of the publisher; empty: nothing is encrypted, everybody may subscribe
  std::vector<std::string> clients;  // the public keys of those who may
};

// One thread.
class StreamSocket final : public StreamSender {
 public:
  // Starts threads of ZeroMQ's, which block all signals. Throws zmq::error_t.
  StreamSocket(StreamListener listener, const StreamKeys& keys);
  ~StreamSocket() override;

  // Waits until somebody has said something, one of the descriptors (or -1) is readable, or the time is over.
  void wait(int wake_fd, int other_fd, int timeout_ms);
  // Everything that was said since.
  void each(const std::function<void(const std::string& peer, std::span<const uint8_t> bytes)>& hear);

  Sent send(const std::string& peer, const StreamFrame& frame) override;
  Sent send(const std::string& peer, const StreamNote& note) override;

  // With keys: connections that ended before they were any, without a key, with a wrong one, with one that isn't on the
  // list, or without a word.
  uint64_t shut_out() const { return shut_out_; }

  // Waits for what is on its way, as long as that, and closes.
  void close(int linger_ms);

 private:
  void use(const StreamKeys& keys);
  void admit();
  void count_shut_out();
  Sent send(const std::string& peer, zmq::message_t message);

  const StreamUrl url_;
  std::vector<std::string> clients_;  // as the keys' 32 bytes
  zmq::context_t context_;
  zmq::socket_t admissions_;  // where ZeroMQ asks who may connect (ZAP, RFC 27); only with keys
  zmq::socket_t router_;
  zmq::socket_t events_;  // where ZeroMQ says how connections end; only with keys
  uint64_t shut_out_ = 0;
};

}  // namespace trama
