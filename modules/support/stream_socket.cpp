#include "modules/support/stream_socket.hpp"

#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace trama {
namespace {

constexpr int kMostWaiting = 320;                // messages on their way to one connection, whatever it asks for
constexpr int kMostHeard = 256;                  // messages taken at once, so that nobody keeps the thread by talking
constexpr int kPingMs = 2000, kDeadMs = 10'000;  // a peer whose machine is gone is noticed by then
constexpr int kHandshakeMs = 5000;               // and one that connects and says nothing, by then

constexpr const char* kAdmissions = "inproc://zeromq.zap.01";
constexpr const char* kEvents = "inproc://trama-publisher-events";
// Who has no key sees so as soon as we do, and may have gone by then: that is the first of these.
constexpr int kShutOut =
    ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

void let_frame_go(void*, void* hint) { delete static_cast<StreamFrame*>(hint); }

std::span<const uint8_t> bytes_of(const zmq::message_t& message) {
  return {static_cast<const uint8_t*>(message.data()), message.size()};
}

}  // namespace

StreamSocket::StreamSocket(StreamListener listener, const StreamKeys& keys)
    : url_(std::move(listener.url)), router_(context_, zmq::socket_type::router) {
  router_.set(zmq::sockopt::router_mandatory, true);
  router_.set(zmq::sockopt::sndhwm, kMostWaiting);
  router_.set(zmq::sockopt::maxmsgsize, int64_t{kMostNoteBytes});  // longer messages than notes end a connection
  router_.set(zmq::sockopt::ipv6, url_.host.find(':') != std::string::npos);
  router_.set(zmq::sockopt::heartbeat_ivl, kPingMs);
  router_.set(zmq::sockopt::heartbeat_timeout, kDeadMs);
  router_.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
  router_.set(zmq::sockopt::linger, 0);
  if (!keys.secret.empty()) use(keys);
  // ZeroMQ closes it from here on.
  router_.set(zmq::sockopt::use_fd, listener.descriptor.get());
  router_.bind(url_.endpoint());
  listener.descriptor.release();
}

// Events are sent by a thread of ZeroMQ's, which would wait for a reader that is gone.
StreamSocket::~StreamSocket() {
  if (router_.handle() != nullptr) zmq_socket_monitor(router_.handle(), nullptr, 0);
  if (url_.way == StreamUrl::Way::ipc) unlink(url_.path.c_str());
}

void StreamSocket::use(const StreamKeys& keys) {
  for (const std::string& key : keys.clients) {
    std::array<uint8_t, 32> raw;
    if (zmq_z85_decode(raw.data(), key.c_str()) == nullptr) throw zmq::error_t();
    clients_.emplace_back(raw.begin(), raw.end());
  }
  admissions_ = zmq::socket_t(context_, zmq::socket_type::rep);
  admissions_.set(zmq::sockopt::linger, 0);
  admissions_.bind(kAdmissions);
  if (zmq_socket_monitor(router_.handle(), kEvents, kShutOut) != 0) throw zmq::error_t();
  events_ = zmq::socket_t(context_, zmq::socket_type::pair);
  events_.set(zmq::sockopt::linger, 0);
  events_.connect(kEvents);
  router_.set(zmq::sockopt::zap_domain, "trama");
  router_.set(zmq::sockopt::curve_server, true);
  router_.set(zmq::sockopt::curve_secretkey, keys.secret);
}

void StreamSocket::wait(int wake_fd, int other_fd, int timeout_ms) {
  std::array<zmq::pollitem_t, 5> items{{{nullptr, wake_fd, ZMQ_POLLIN, 0},
                                        {nullptr, other_fd, ZMQ_POLLIN, 0},
                                        {router_.handle(), 0, ZMQ_POLLIN, 0},
                                        {admissions_.handle(), 0, ZMQ_POLLIN, 0},
                                        {events_.handle(), 0, ZMQ_POLLIN, 0}}};
  const size_t used = admissions_.handle() == nullptr ? 3 : 5;
  try {
    zmq::poll(items.data(), used, std::chrono::milliseconds(timeout_ms));
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;
  }
  if ((items[3].revents & ZMQ_POLLIN) != 0) admit();
  if ((items[4].revents & ZMQ_POLLIN) != 0) count_shut_out();
}

// Each event has two parts: what happened, and where.
void StreamSocket::count_shut_out() {
  for (zmq::message_t event; events_.recv(event, zmq::recv_flags::dontwait); ++shut_out_)
    while (event.more()) (void)!events_.recv(event, zmq::recv_flags::none);
}

void StreamSocket::each(const std::function<void(const std::string&, std::span<const uint8_t>)>& hear) {
  zmq::message_t peer, message;
  for (int heard = 0; heard < kMostHeard && router_.recv(peer, zmq::recv_flags::dontwait); ++heard) {
    bool first = true;
    for (bool more = peer.more(); more; more = message.more(), first = false) {
      if (!router_.recv(message, zmq::recv_flags::none)) return;
      // A note is one part; what else there is comes from something that is no subscriber.
      if (first && !message.more()) hear(peer.to_string(), bytes_of(message));
    }
  }
}

Sent StreamSocket::send(const std::string& peer, const StreamFrame& frame) {
  auto* kept = new StreamFrame(frame);
  // ZeroMQ reads it only, but wants a pointer that it could write to.
  return send(peer, zmq::message_t(const_cast<uint8_t*>(kept->bytes.get()), kept->size, let_frame_go, kept));
}

Sent StreamSocket::send(const std::string& peer, const StreamNote& note) {
  std::array<uint8_t, kMostNoteBytes> bytes;
  return send(peer, zmq::message_t(bytes.data(), write_note(note, bytes)));
}

Sent StreamSocket::send(const std::string& peer, zmq::message_t message) {
  try {
    if (!router_.send(zmq::buffer(peer), zmq::send_flags::sndmore | zmq::send_flags::dontwait)) return Sent::later;
    // Once the peer was taken there is room for the message that goes to it.
    return router_.send(message, zmq::send_flags::dontwait) ? Sent::done : Sent::later;
  } catch (const zmq::error_t& error) {
    if (error.num() == EHOSTUNREACH) return Sent::gone;
    throw;
  }
}

// Answers one request of ZAP: version, request id, domain, address, identity, mechanism, credentials.
void StreamSocket::admit() {
  std::vector<std::string> request;
  zmq::message_t part;
  do {
    if (!admissions_.recv(part, zmq::recv_flags::dontwait)) return;
    request.push_back(part.to_string());
  } while (part.more());
  const bool asked = request.size() == 7 && request[5] == "CURVE";
  const bool welcome = asked && std::find(clients_.begin(), clients_.end(), request[6]) != clients_.end();
  const std::string id = request.size() > 1 ? request[1] : "";
  const std::array<std::string, 6> answer{"1.0", id, welcome ? "200" : "400", welcome ? "OK" : "not on the list",
                                          "",    ""};
  for (size_t i = 0; i < answer.size(); ++i)
    admissions_.send(zmq::buffer(answer[i]), i + 1 < answer.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
}

void StreamSocket::close(int linger_ms) {
  if (events_.handle() != nullptr) {
    count_shut_out();
    zmq_socket_monitor(router_.handle(), nullptr, 0);
    events_.close();
  }
  router_.set(zmq::sockopt::linger, linger_ms);
  router_.close();
  admissions_.close();
  context_.close();
}

}  // namespace trama
