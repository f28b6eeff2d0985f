// Windows that have left the history of a stream, read from archives on a thread of its own, so that live subscribers
// never wait for a disk.
#pragma once
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "libclient/formats/file_bytes.hpp"
#include "modules/support/stream_archives.hpp"
#include "modules/support/stream_subscribers.hpp"

namespace trama {

// Requests are answered one after the other, a window each. A subscriber has one at a time, so all of them advance
// alike; and few answers wait to be taken, so that memory doesn't grow with the archives.
class StreamReplay final : public StreamArchive {
 public:
  // Throws std::system_error when there are no descriptors left.
  StreamReplay(std::shared_ptr<const ArchiveLog> log, uint64_t max_bytes);
  ~StreamReplay() override;
  StreamReplay(const StreamReplay&) = delete;
  StreamReplay& operator=(const StreamReplay&) = delete;

  // Once, before anything is asked: starts the thread.
  void begin(StreamIdentity identity);

  bool ask(ReplayRequest request) override;
  void withdraw(uint64_t ticket) override;
  std::optional<ReplayAnswer> take();
  // Readable while there are answers.
  int descriptor() const { return answered_.get(); }

 private:
  void work(StreamArchives archives);

  const std::shared_ptr<const ArchiveLog> log_;
  const uint64_t max_bytes_;
  FileDescriptor answered_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ReplayRequest> requests_;
  std::deque<ReplayAnswer> answers_;
  bool over_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace trama
