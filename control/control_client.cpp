#include "control/control_client.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "control/control_socket.hpp"
#include "engine/suggest.hpp"

namespace trama {
namespace {

constexpr timeval kPatience{10, 0};
constexpr size_t kLongestAnswer = 16 << 20;

struct Attempt {
  FileDescriptor descriptor;  // connected, or
  int error = 0;              // why not, as errno says it
};
Attempt try_connect(const sockaddr_un& address) {
  FileDescriptor descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!descriptor) return {FileDescriptor(), errno};
  // They also hold for connect(), which waits while too many others do.
  setsockopt(descriptor.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  setsockopt(descriptor.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  if (::connect(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {FileDescriptor(), errno};
  return {std::move(descriptor), 0};
}

bool somebody_listens(const std::filesystem::path& path) {
  const auto address = socket_address(path.string());
  if (!address) return false;
  const int error = try_connect(*address).error;
  return error == 0 || error == EACCES || error == EAGAIN;
}

}  // namespace

Expected<ControlClient> ControlClient::connect(const std::string& path) {
  const auto address = socket_address(path);
  if (!address) return tl::unexpected(address.error());
  Attempt attempt = try_connect(*address);
  const Place place{path, 0};
  switch (attempt.error) {
    case 0: return ControlClient(path, std::move(attempt.descriptor));
    case ENOENT: return failure("there is no such socket", "start a run with --socket " + path, place);
    case ECONNREFUSED:  // also where it is no socket at all
      if (std::error_code ignored; std::filesystem::is_socket(path, ignored))
        return failure("nobody listens: the run of this socket has ended", "", place);
      [[fallthrough]];
    case ENOTSOCK:
    case EPROTOTYPE: return failure("not the socket of a run", "it is what --socket of `trama run` names", place);
    case EACCES: return failure("only its owner and root may use this socket", "ask through sudo", place);
    case EAGAIN: return failure("too many others are asking", "try again", place);
    default: return failure(std::string("can't connect: ") + std::strerror(attempt.error), "", place);
  }
}

Expected<nlohmann::ordered_json> ControlClient::ask(const ControlRequest& request) {
  if (auto sent = send(encode_request(request)); !sent) return tl::unexpected(std::move(sent.error()));
  const auto line = receive_line();
  if (!line) return tl::unexpected(line.error());
  return decode_answer(*line);
}

// Where it is refused, the engine may have said why before it closed: what can be read comes first.
Expected<void> ControlClient::send(const std::string& line) {
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t gone = ::send(descriptor_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (gone < 0 && errno == EINTR) continue;
    if (gone < 0 && errno == EPIPE) return {};
    if (gone < 0) return failure("the engine doesn't take the request", "", {path_, 0});
    sent += static_cast<size_t>(gone);
  }
  return {};
}

Expected<std::string> ControlClient::receive_line() {
  const Place place{path_, 0};
  for (size_t end; (end = received_.find('\n')) == std::string::npos;) {
    char piece[16 << 10];
    const ssize_t got = recv(descriptor_.get(), piece, sizeof piece, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return failure("the engine doesn't answer", "", place);
    if (got <= 0) return failure("the engine has gone away", "its run may have ended", place);
    received_.append(piece, static_cast<size_t>(got));
    if (received_.size() > kLongestAnswer) return failure("not an answer: too long", "", place);
  }
  const size_t end = received_.find('\n');
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

Expected<std::string> find_control_socket(const std::optional<std::string>& given, const SocketPlaces& places) {
  if (given) return *given;
  std::vector<std::string> found;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(places.folder, ignored), end; entry != end; entry.increment(ignored))
    if (entry->path().extension() == ".sock" && somebody_listens(entry->path()))
      found.push_back(entry->path().string());
  if (somebody_listens(places.beside_us)) found.push_back(places.beside_us.string());
  std::sort(found.begin(), found.end());
  if (found.size() == 1) return found.front();
  if (found.empty())
    return failure(
        "no running engine was found in " + places.folder.string() + "/*.sock or ./" + places.beside_us.string(),
        "start it with `trama run --socket PATH`, and ask with --socket PATH");
  return failure("several engines run", "choose one of them with --socket: " + joined(found));
}

}  // namespace trama
