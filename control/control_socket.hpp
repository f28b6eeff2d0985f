// The Unix domain socket of a run: its name in the file system, and who may open it.
#pragma once
#include <sys/types.h>
#include <sys/un.h>

#include <string>

#include "control/privileges.hpp"
#include "engine/diagnostic.hpp"
#include "libclient/formats/file_bytes.hpp"

namespace trama {

// Listens from the start; nobody but the owner and root can open it at any moment (mode 0600). The name goes with the
// object, unless another socket has taken it meanwhile.
class ControlSocket {
 public:
  // A socket of that name that nobody listens at any more is replaced. Refused: one that somebody listens at, any other
  // kind of file, a name that is too long for a socket, a folder that isn't there or can't be written.
  static Expected<ControlSocket> open(const std::string& path);
  ~ControlSocket() { remove(); }
  ControlSocket(ControlSocket&& other) noexcept;
  ControlSocket& operator=(ControlSocket&&) = delete;

  // Makes a user its owner; for root, who then goes on as that user.
  Expected<void> give_to(const OtherUser& user) const;

  int descriptor() const { return listener_.get(); }
  const std::string& path() const { return path_; }
  // Takes the name away; once. Nothing can be done where the folder can't be written any more: the next run replaces
  // it.
  void remove();

 private:
  ControlSocket(std::string path, FileDescriptor listener, dev_t device, ino_t inode)
      : path_(std::move(path)), listener_(std::move(listener)), device_(device), inode_(inode) {}

  std::string path_;  // empty: removed
  FileDescriptor listener_;
  dev_t device_;
  ino_t inode_;
};

// The address of a socket's name; refused: one that is too long.
Expected<sockaddr_un> socket_address(const std::string& path);

}  // namespace trama
