#include "modules/support/stream_listener.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

namespace trama {
namespace {

constexpr int kBacklog = 512;

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

tl::unexpected<Diagnostic> refused(const StreamUrl& url, const std::string& why, std::string hint = "") {
  return failure("can't publish at " + url.text() + ": " + why, std::move(hint));
}

std::string hint_for(int reason, const StreamUrl& url) {
  const bool at_path = url.way == StreamUrl::Way::ipc;
  switch (reason) {
    case EADDRINUSE: return "another program listens there";
    case EADDRNOTAVAIL:
      return "no interface of this machine has that address (`ip address` lists them); 0.0.0.0 stands for all of them";
    case ENOENT: return at_path ? "make the folder first: mkdir -p " + parent_of(url.path) : "";
    case ENOTDIR: return at_path ? "something on the way to it is no folder" : "";
    case EACCES:
      return at_path ? "whoever runs this may not write into " + parent_of(url.path)
                     : "a port below 1024 takes root, or CAP_NET_BIND_SERVICE";
    default: return "";
  }
}

tl::unexpected<Diagnostic> refused_by_system(const StreamUrl& url) {
  const int reason = errno;
  return refused(url, std::strerror(reason), hint_for(reason, url));
}

sockaddr_un socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  return address;
}

// Left over by a program that was killed.
bool nobody_listens(const sockaddr_un& address) {
  const FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

Expected<StreamListener> listen_at_path(StreamUrl url) {
  const sockaddr_un address = socket_address(url.path);
  struct stat status {};
  if (lstat(url.path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) return refused(url, "something else is there", "choose another path");
    if (!nobody_listens(address)) return refused(url, "another program listens there", "choose another path");
    unlink(url.path.c_str());
  }
  FileDescriptor descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // Whatever the umask: its mode becomes that of the name.
  if (!descriptor || fchmod(descriptor.get(), 0600) != 0 ||
      bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(descriptor.get(), kBacklog) != 0)
    return refused_by_system(url);
  return StreamListener{std::move(descriptor), std::move(url)};
}

Expected<StreamListener> listen_at_port(StreamUrl url) {
  addrinfo wanted{};
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  if (url.host == "*") wanted.ai_family = AF_INET;
  const std::string host = url.host == "localhost" ? "127.0.0.1" : url.host;
  addrinfo* found = nullptr;
  const int wrong =
      getaddrinfo(host == "*" ? nullptr : host.c_str(), std::to_string(url.port).c_str(), &wanted, &found);
  if (wrong != 0)
    return refused(url, gai_strerror(wrong), "give an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all");
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> address(found, freeaddrinfo);
  FileDescriptor descriptor(socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!descriptor || setsockopt(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(descriptor.get(), address->ai_addr, address->ai_addrlen) != 0 || listen(descriptor.get(), kBacklog) != 0)
    return refused_by_system(url);
  sockaddr_storage taken{};
  socklen_t size = sizeof taken;
  if (getsockname(descriptor.get(), reinterpret_cast<sockaddr*>(&taken), &size) != 0) return refused_by_system(url);
  // Both families have the port in the same place.
  url.port = ntohs(reinterpret_cast<const sockaddr_in*>(&taken)->sin_port);
  return StreamListener{std::move(descriptor), std::move(url)};
}

}  // namespace

Expected<StreamListener> StreamListener::open(StreamUrl url) {
  return url.way == StreamUrl::Way::ipc ? listen_at_path(std::move(url)) : listen_at_port(std::move(url));
}

void raise_descriptor_limit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace trama
