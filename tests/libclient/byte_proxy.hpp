// A connection in the middle that can be cut after any byte, and whose bytes can be changed.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "libclient/formats/file_bytes.hpp"

namespace trama::test {

// Listens at a port of its own, and passes everything on to another of this machine and back.
class ByteProxy {
 public:
  explicit ByteProxy(uint16_t to) : to_(to), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = local(0);
    socklen_t size = sizeof address;
    if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_.get(), 16) != 0 ||
        getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no port for the proxy");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { work(); });
  }
  ~ByteProxy() {
    eventfd_write(stop_.get(), 1);
    thread_.join();
  }
  uint16_t port() const { return port_; }

  // The next connection is cut when so many bytes have gone to whoever connected.
  void cut_next_after(size_t bytes) {
    const std::lock_guard lock(mutex_);
    cut_ = bytes;
  }
  // Of what goes to those who connected.
  void change(std::function<void(std::vector<uint8_t>&)> how) {
    const std::lock_guard lock(mutex_);
    change_ = std::move(how);
  }

 private:
  struct Pair {
    FileDescriptor client, server;
    std::optional<size_t> left;  // bytes until the cut
  };
  static sockaddr_in local(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  void work() {
    for (;;) {
      std::vector<pollfd> events = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const Pair& pair : pairs_)
        events.insert(events.end(), {{pair.client.get(), POLLIN, 0}, {pair.server.get(), POLLIN, 0}});
      poll(events.data(), events.size(), -1);
      if (events[0].revents != 0) return;
      auto event = events.begin() + 2;
      for (auto pair = pairs_.begin(); pair != pairs_.end(); event += 2) {
        const bool alive = (event[0].revents == 0 || to_server(*pair)) && (event[1].revents == 0 || to_client(*pair));
        pair = alive ? std::next(pair) : pairs_.erase(pair);
      }
      if (events[1].revents != 0) accept_one();
    }
  }
  void accept_one() {
    Pair pair{FileDescriptor(accept(listener_.get(), nullptr, nullptr)),
              FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), std::nullopt};
    const sockaddr_in address = local(to_);
    if (connect(pair.server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
    const std::lock_guard lock(mutex_);
    pair.left = std::exchange(cut_, std::nullopt);
    pairs_.push_back(std::move(pair));
  }
  static bool pass(int from, int to, std::vector<uint8_t>& bytes) {
    bytes.resize(1 << 16);
    const ssize_t got = recv(from, bytes.data(), bytes.size(), 0);
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(0, got)));
    return to < 0 ? got > 0 : got > 0 && send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL) == got;
  }
  bool to_server(Pair& pair) {
    std::vector<uint8_t> bytes;
    return pass(pair.client.get(), pair.server.get(), bytes);
  }
  bool to_client(Pair& pair) {
    std::vector<uint8_t> bytes;
    if (!pass(pair.server.get(), -1, bytes)) return false;
    {
      const std::lock_guard lock(mutex_);
      if (change_) change_(bytes);
    }
    const size_t wanted = std::min(bytes.size(), pair.left.value_or(SIZE_MAX));
    if (pair.left) *pair.left -= wanted;
    return send(pair.client.get(), bytes.data(), wanted, MSG_NOSIGNAL) == static_cast<ssize_t>(wanted) &&
           pair.left != size_t{0};
  }

  const uint16_t to_;
  uint16_t port_ = 0;
  FileDescriptor listener_;
  FileDescriptor stop_{eventfd(0, EFD_CLOEXEC)};
  std::mutex mutex_;
  std::optional<size_t> cut_;
  std::function<void(std::vector<uint8_t>&)> change_;
  std::list<Pair> pairs_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace trama::test
