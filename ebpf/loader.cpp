#include "ebpf/loader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "ebpf/child_process.hpp"
#include "ebpf/elf_object.hpp"
#include "ebpf/linker.hpp"
#include "ebpf/map.hpp"
#include "ebpf/object_codec.hpp"

namespace trama::ebpf {
namespace {

class File {
 public:
  explicit File(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

Expected<std::vector<uint8_t>> read_file(const std::string& path) {
  const File file(path);
  struct stat status {};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &status) != 0)
    return refuse(path + ": " + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return refuse(path + " is no file");
  if (static_cast<uint64_t>(status.st_size) > kMaxObjectBytes)
    return refuse(path + " is larger than " + std::to_string(kMaxObjectBytes >> 20) + " MiB");
  std::vector<uint8_t> bytes(static_cast<size_t>(status.st_size));
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::read(file.descriptor(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(path + ": " + std::strerror(errno));
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

tl::unexpected<Refusal> named(const std::string& name, Refusal refusal) {
  refusal.text = name + ": " + refusal.text;
  return tl::unexpected(std::move(refusal));
}

}  // namespace

Expected<Object> load_object(std::span<const uint8_t> bytes, const std::string& name) {
  if (bytes.size() > kMaxObjectBytes)
    return refuse(name + " is larger than " + std::to_string(kMaxObjectBytes >> 20) + " MiB");
  if (auto good = check_elf_header(bytes); !good) return named(name, good.error());
  ChildLimits limits;
  limits.reply_bytes = kMaxEncodedBytes;
  const ChildReply reply = run_in_child([&] { return encode(link_object(bytes, name)); }, limits);
  if (!reply.finished)
    return refuse(name + ": the process that links it did not finish: " + reply.end,
                  "the object is damaged, or hostile");
  Expected<Object> object = decode(reply.bytes);
  if (!object) return named(name, object.error());
  // Types and sizes of maps: as much as making them says.
  if (const auto maps = Maps::create(*object, 1); !maps) return named(name, maps.error());
  return object;
}

Expected<Object> load_object(const std::string& path) {
  const auto bytes = read_file(path);
  if (!bytes) return tl::unexpected(bytes.error());
  return load_object(*bytes, path.substr(path.find_last_of('/') + 1));
}

}  // namespace trama::ebpf
