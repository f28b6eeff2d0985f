// Answers requests on a control socket: one thread, lines in, lines out.
//
// Clients may be slow, silent, many or hostile; each costs bounded memory and time, and none of them holds up another
// one or the engine:
//   * at most `clients` of them at once; the next one is told so, and closed
//   * a client has one answer under way; until it has taken it, nothing more is read from it
//   * a request is no longer than kMaxRequestBytes; a longer one is refused, and its client closed
//   * whoever doesn't finish a request or take an answer within `stall_ms` is closed; and after `idle_ms` of silence
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "engine/diagnostic.hpp"
#include "libclient/formats/file_bytes.hpp"

namespace trama {

class ControlServer {
 public:
  // From a request, without the end of its line, to the line that answers it. On the server's thread, one at a time.
  using Answer = std::function<std::string(std::string_view request)>;
  struct Limits {
    size_t clients = 64;
    int stall_ms = 10'000;
    int idle_ms = 300'000;
  };

  // `listener`: a socket that listens, does not block, and lives as long.
  static Expected<std::unique_ptr<ControlServer>> start(int listener, Answer answer, const Limits& limits);
  ~ControlServer();  // closes all clients
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  ControlServer() = default;
  FileDescriptor stop_;  // an eventfd: readable when it is over
  std::thread thread_;
};

}  // namespace trama
