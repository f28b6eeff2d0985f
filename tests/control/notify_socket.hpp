// A service manager that only listens.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.hpp"

namespace trama::test {

// While it lives this process is its service.
class NotifySocket {
 public:
  explicit NotifySocket(const char* watchdog_us = nullptr) : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const std::string path = folder_ / "notify";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    if (watchdog_us) setenv("WATCHDOG_USEC", watchdog_us, 1);
  }
  ~NotifySocket() {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    close(fd_);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  // What was said since the last call.
  std::vector<std::string> said() const {
    std::vector<std::string> all;
    char text[4096];
    for (ssize_t bytes; (bytes = recv(fd_, text, sizeof text, MSG_DONTWAIT)) >= 0;)
      all.emplace_back(text, static_cast<size_t>(bytes));
    return all;
  }

 private:
  ScratchFolder folder_;
  const int fd_;
};

}  // namespace trama::test
