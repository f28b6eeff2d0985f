#include "control/control_server.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <list>
#include <system_error>
#include <vector>

#include "control/control_protocol.hpp"

namespace trama {
namespace {

constexpr size_t kPiece = 16 << 10;       // read from one client before it is the next one's turn
constexpr int kAcceptedAtOnce = 64;       // before clients have their turn
constexpr int64_t kNoDescriptorMs = 100;  // how long nobody is let in when descriptors have run out

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Client {
 public:
  Client(FileDescriptor descriptor, int64_t now) : descriptor_(std::move(descriptor)), since_ms_(now) {}

  int descriptor() const { return descriptor_.get(); }
  short wanted() const { return has_answer() ? POLLOUT : POLLIN; }
  // It has asked for more than was answered, and no event will tell of it.
  bool has_request() const {
    return !has_answer() && (request_.find('\n') != std::string::npos || request_.size() > kMaxRequestBytes ||
                             (ended_ && !request_.empty()));
  }
  bool closed() const { return closed_; }
  int64_t deadline_ms(const ControlServer::Limits& limits) const {
    const bool waited_for = has_answer() || !request_.empty();
    return since_ms_ + (waited_for ? limits.stall_ms : limits.idle_ms);
  }

  // It can be read from or written to, or has a request; `now` for its deadline. Answers one request, so that whoever
  // asks much holds up nobody.
  void go_on(const ControlServer::Answer& answer, int64_t now) {
    if (!has_answer() && !has_request()) receive(now);
    send(now);
    if (!closed_ && has_request()) {
      take_line(answer, now);
      send(now);
    }
    if (ended_ && !has_answer() && !has_request()) closed_ = true;
  }

 private:
  bool has_answer() const { return sent_ < answer_.size(); }

  void receive(int64_t now) {
    char piece[kPiece];
    const ssize_t got = recv(descriptor(), piece, sizeof piece, 0);
    if (got > 0) {
      if (request_.empty()) since_ms_ = now;
      request_.append(piece, static_cast<size_t>(got));
    } else if (got == 0) {
      ended_ = true;
    } else if (errno != EAGAIN && errno != EINTR) {
      closed_ = true;
    }
  }

  // Answers the first line; also one without an end, where nothing can follow.
  void take_line(const ControlServer::Answer& answer, int64_t now) {
    const size_t end = std::min(request_.find('\n'), request_.size());
    if (end > kMaxRequestBytes) {  // and where it ends nobody knows
      ended_ = true;
      request_.clear();
      answer_ = too_long();
    } else {
      answer_ = answer(std::string_view(request_).substr(0, end));
      request_.erase(0, std::min(end + 1, request_.size()));
    }
    sent_ = 0;
    since_ms_ = now;
  }

  static std::string too_long() {
    return encode_failure(
        {}, {Severity::error, {}, "a request has at most " + std::to_string(kMaxRequestBytes) + " bytes", ""});
  }

  void send(int64_t now) {
    if (!has_answer()) return;
    const ssize_t gone =
        ::send(descriptor(), answer_.data() + sent_, answer_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (gone < 0) {
      if (errno != EAGAIN && errno != EINTR) closed_ = true;
      return;
    }
    sent_ += static_cast<size_t>(gone);
    if (has_answer()) return;
    answer_.clear();
    sent_ = 0;
    since_ms_ = now;
  }

  FileDescriptor descriptor_;
  std::string request_, answer_;  // what was received and not yet answered; the answer under way
  size_t sent_ = 0;               // of the answer
  int64_t since_ms_;              // what its deadline counts from
  bool ended_ = false;            // it asks no more
  bool closed_ = false;
};

class Clients {
 public:
  Clients(int listener, ControlServer::Answer answer, const ControlServer::Limits& limits)
      : listener_(listener), answer_(std::move(answer)), limits_(limits) {}

  // Until `stop` is readable. Out of memory: the clients go, the run doesn't.
  void serve(int stop) {
    for (bool over = false; !over;) {
      try {
        over = round(stop);
      } catch (const std::exception&) {
        clients_.clear();
      }
    }
  }

 private:
  // Waits, and does what can be done then. True: it is over.
  bool round(int stop) {
    const int64_t before = now_ms();
    const bool lets_in = before >= shut_until_ms_;
    events_.assign({{stop, POLLIN, 0}, {lets_in ? listener_ : -1, POLLIN, 0}});
    for (const Client& client : clients_) events_.push_back({client.descriptor(), client.wanted(), 0});
    poll(events_.data(), events_.size(), wait_ms(before));
    if (events_[0].revents != 0) return true;
    const int64_t now = now_ms();
    auto event = events_.begin() + 2;
    for (Client& client : clients_)
      if ((event++)->revents != 0 || client.has_request()) client.go_on(answer_, now);
    clients_.remove_if([&](const Client& client) { return client.closed() || now >= client.deadline_ms(limits_); });
    if (events_[1].revents != 0) let_in(now);
    return false;
  }

  int wait_ms(int64_t now) const {
    int64_t next = INT64_MAX;
    if (now < shut_until_ms_) next = shut_until_ms_;
    for (const Client& client : clients_) {
      if (client.has_request()) return 0;
      next = std::min(next, client.deadline_ms(limits_));
    }
    return next == INT64_MAX ? -1 : static_cast<int>(std::clamp<int64_t>(next - now, 0, 60'000));
  }

  void let_in(int64_t now) {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      FileDescriptor client(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!client) {
        const bool none_left = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (none_left) shut_until_ms_ = now + kNoDescriptorMs;
        return;
      }
      if (clients_.size() < limits_.clients) {
        clients_.emplace_back(std::move(client), now);
        continue;
      }
      static const std::string busy =
          encode_failure({}, {Severity::error, {}, "busy: too many others are asking", "try again"});
      (void)!::send(client.get(), busy.data(), busy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  }

  const int listener_;
  const ControlServer::Answer answer_;
  const ControlServer::Limits limits_;
  std::list<Client> clients_;
  std::vector<pollfd> events_;
  int64_t shut_until_ms_ = 0;
};

}  // namespace

Expected<std::unique_ptr<ControlServer>> ControlServer::start(int listener, Answer answer, const Limits& limits) {
  std::unique_ptr<ControlServer> server(new ControlServer());
  server->stop_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!server->stop_) return failure("no file descriptor is left for the control socket");
  try {
    server->thread_ = std::thread([listener, answer = std::move(answer), limits, stop = server->stop_.get()] {
      pthread_setname_np(pthread_self(), "control");
      Clients(listener, answer, limits).serve(stop);
    });
  } catch (const std::system_error& error) {
    return failure(std::string("can't start a thread for the control socket: ") + error.what());
  }
  return server;
}

ControlServer::~ControlServer() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

}  // namespace trama
