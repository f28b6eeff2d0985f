// Windows of a run, read back from the archives that it writes, the one that is being written included: whole windows
// with a right checksum, or none.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libclient/formats/file_bytes.hpp"
#include "libclient/formats/manifest.hpp"
#include "modules/support/archive_log.hpp"
#include "modules/support/stream_history.hpp"

namespace trama {

// What envelopes say and archives don't.
struct StreamIdentity {
  uint64_t run = 0;
  std::string sensor, stream;
};

// One thread. Keeps the manifests of a few archives, and the files open.
class StreamArchives {
 public:
  StreamArchives(std::shared_ptr<const ArchiveLog> log, StreamIdentity identity, uint64_t max_bytes)
      : log_(std::move(log)), identity_(std::move(identity)), max_bytes_(max_bytes) {}

  // The first window in [from, below) that has packets at this time or later, in its envelope. Those that are damaged,
  // gone, or longer than max_bytes are passed over. Throws std::bad_alloc.
  std::optional<KeptWindow> find(uint64_t from, uint64_t below, int64_t time_ns);

 private:
  struct Archive {
    uint64_t first = 0;  // number of its first window; tells the archives of a run apart
    FileDescriptor file;
    Manifest manifest;
    std::vector<uint64_t> offsets;  // of the windows' headers
    uint64_t used = 0;              // when, in calls
  };

  const Archive* opened(const LoggedArchive& logged);
  std::optional<Archive> open(const LoggedArchive& logged) const;
  std::optional<KeptWindow> read(const Archive& archive, size_t index);

  const std::shared_ptr<const ArchiveLog> log_;
  const StreamIdentity identity_;
  const uint64_t max_bytes_;
  std::vector<Archive> archives_;
  uint64_t calls_ = 0;
  std::vector<uint8_t> blob_;
};

}  // namespace trama
