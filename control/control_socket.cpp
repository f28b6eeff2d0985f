#include "control/control_socket.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

namespace trama {
namespace {

constexpr int kBacklog = 128;

tl::unexpected<Diagnostic> refused(const std::string& path, std::string text, std::string hint = "") {
  return failure(std::move(text), std::move(hint), {path, 0});
}

const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

FileDescriptor new_socket() { return FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

// Two runs that start at once would both take a name that nobody listens at for a left-over, and the second would
// remove the first one's socket. So whoever looks holds its folder.
class HeldFolder {
 public:
  static Expected<HeldFolder> hold(const std::string& path) {
    std::string folder = std::filesystem::path(path).parent_path().string();
    if (folder.empty()) folder = ".";
    FileDescriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!descriptor)
      return refused(path, "can't use the folder of the control socket: " + std::string(std::strerror(errno)),
                     errno == ENOENT ? "make it: install -d " + folder : "");
    for (int attempt = 0; flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0; ++attempt) {
      if (attempt == 100) return refused(path, "somebody holds the folder of the control socket", "try again");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return HeldFolder(std::move(descriptor));
  }

 private:
  explicit HeldFolder(FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {}
  FileDescriptor descriptor_;  // closing it ends the lock
};

// Takes what an ended run has left behind out of the way.
Expected<void> make_way(const std::string& path, const sockaddr_un& address) {
  struct stat there {};
  if (lstat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return {};
    return refused(path, std::string("can't look at the control socket: ") + std::strerror(errno));
  }
  if (!S_ISSOCK(there.st_mode))
    return refused(path, "can't be the control socket: it is a file of another kind", "choose another --socket");
  const FileDescriptor probe = new_socket();
  if (connect(probe.get(), generic(address), sizeof address) == 0 || errno != ECONNREFUSED)
    return refused(path, "another run listens at this control socket",
                   "`trama status --socket " + path + "` asks it; or choose another --socket");
  if (unlink(path.c_str()) != 0)
    return refused(path, std::string("can't replace the socket of an earlier run: ") + std::strerror(errno));
  return {};
}

}  // namespace

Expected<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return refused(path, "the name of a socket has 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes",
                   "choose a shorter one, as /run/trama/site.sock");
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Expected<ControlSocket> ControlSocket::open(const std::string& path) {
  const auto address = socket_address(path);
  if (!address) return tl::unexpected(address.error());
  const auto held = HeldFolder::hold(path);
  if (!held) return tl::unexpected(held.error());
  if (auto clear = make_way(path, *address); !clear) return tl::unexpected(std::move(clear.error()));

  FileDescriptor listener = new_socket();
  // On Linux the name gets the mode of the socket, less the umask: there is no moment at which others could open it.
  const bool bound = listener && fchmod(listener.get(), S_IRUSR | S_IWUSR) == 0 &&
                     bind(listener.get(), generic(*address), sizeof *address) == 0;
  if (!bound) return refused(path, std::string("can't make the control socket: ") + std::strerror(errno));
  struct stat made {};
  const bool there = lstat(path.c_str(), &made) == 0;
  ControlSocket socket(path, std::move(listener), made.st_dev, made.st_ino);
  if (!there || (made.st_mode & (S_IRWXG | S_IRWXO)) != 0 || listen(socket.descriptor(), kBacklog) != 0)
    return refused(path, "can't make a control socket that only its owner can open");
  return socket;
}

ControlSocket::ControlSocket(ControlSocket&& other) noexcept
    : path_(std::exchange(other.path_, "")),
      listener_(std::move(other.listener_)),
      device_(other.device_),
      inode_(other.inode_) {}

Expected<void> ControlSocket::give_to(const OtherUser& user) const {
  if (fchownat(AT_FDCWD, path_.c_str(), user.user(), user.group(), AT_SYMLINK_NOFOLLOW) == 0) return {};
  return refused(path_, "can't give the control socket to `" + user.name() + "`: " + std::strerror(errno));
}

void ControlSocket::remove() {
  const std::string path = std::exchange(path_, "");
  struct stat there {};
  if (path.empty() || lstat(path.c_str(), &there) != 0) return;
  if (there.st_dev == device_ && there.st_ino == inode_) unlink(path.c_str());
}

}  // namespace trama
