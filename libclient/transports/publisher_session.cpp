#include "libclient/transports/publisher_session.hpp"

#include <zmq.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace trama {
namespace {

constexpr int kLingerMs = 200;
constexpr int kNotesAhead = 16;                  // besides the windows that a publisher is allowed to send
constexpr int kPingMs = 2000, kDeadMs = 10'000;  // a publisher whose machine is gone is noticed by then

// Each socket's events have an address of their own.
std::string new_events_address() {
  static std::atomic<uint64_t> number{0};
  return "inproc://trama-events-" + std::to_string(number.fetch_add(1));
}

constexpr int kEvents = ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

}  // namespace

PublisherSession::PublisherSession(zmq::context_t& context, const StreamUrl& url, const SubscribeOptions& options)
    : dealer_(context, zmq::socket_type::dealer), events_(context, zmq::socket_type::pair) {
  dealer_.set(zmq::sockopt::reconnect_ivl, -1);
  dealer_.set(zmq::sockopt::linger, 0);
  dealer_.set(zmq::sockopt::rcvhwm, static_cast<int>(std::min<size_t>(options.ahead, 256)) + kNotesAhead);
  dealer_.set(zmq::sockopt::maxmsgsize, static_cast<int64_t>(options.max_bytes));
  dealer_.set(zmq::sockopt::heartbeat_ivl, kPingMs);
  dealer_.set(zmq::sockopt::heartbeat_timeout, kDeadMs);
  dealer_.set(zmq::sockopt::ipv6, true);
  if (!options.keys.publisher.empty()) {
    std::array<char, 41> own_public;
    if (zmq_curve_public(own_public.data(), options.keys.secret.c_str()) != 0) throw zmq::error_t();
    dealer_.set(zmq::sockopt::curve_serverkey, options.keys.publisher);
    dealer_.set(zmq::sockopt::curve_secretkey, options.keys.secret);
    dealer_.set(zmq::sockopt::curve_publickey, own_public.data());
  }
  const std::string address = new_events_address();
  if (zmq_socket_monitor(dealer_.handle(), address.c_str(), kEvents) != 0) throw zmq::error_t();
  events_.set(zmq::sockopt::linger, 0);
  events_.connect(address);
  dealer_.connect(url.endpoint());
}

// Events are sent by a thread of ZeroMQ's, which would wait for a reader that is gone.
PublisherSession::~PublisherSession() { zmq_socket_monitor(dealer_.handle(), nullptr, 0); }

void PublisherSession::tell(const StreamNote& note) {
  std::array<uint8_t, kMostNoteBytes> bytes;
  // Before the connection is there it waits; behind a connection that is gone it is lost, and nobody needs it.
  (void)dealer_.send(zmq::buffer(bytes.data(), write_note(note, bytes)), zmq::send_flags::dontwait);
}

void PublisherSession::wait(int descriptor, int timeout_ms) {
  std::array<zmq::pollitem_t, 3> items{{{dealer_.handle(), 0, ZMQ_POLLIN, 0},
                                        {events_.handle(), 0, ZMQ_POLLIN, 0},
                                        {nullptr, descriptor, ZMQ_POLLIN, 0}}};
  try {
    zmq::poll(items, std::chrono::milliseconds(timeout_ms));
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;
  }
}

std::optional<zmq::message_t> PublisherSession::receive() {
  zmq::message_t message;
  if (!dealer_.recv(message, zmq::recv_flags::dontwait)) return std::nullopt;
  return message;
}

bool PublisherSession::alive() {
  zmq::message_t event;
  while (events_.recv(event, zmq::recv_flags::dontwait)) {
    uint16_t what = 0;
    if (event.size() >= sizeof what) std::memcpy(&what, event.data(), sizeof what);
    if ((what & kEvents) != 0) alive_ = false;
    while (event.more()) (void)events_.recv(event, zmq::recv_flags::none);
  }
  return alive_;
}

void PublisherSession::close() { dealer_.set(zmq::sockopt::linger, kLingerMs); }

}  // namespace trama
