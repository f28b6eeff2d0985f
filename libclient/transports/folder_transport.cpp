// file://: the archives in a folder as a stream, in the order of their names, which is that of time; new ones as they
// appear. Or one archive, which has an end. Archives without a manifest are no stream: nobody knows the numbers of
// their windows.
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

#include "libclient/formats/archive_envelope.hpp"
#include "libclient/formats/archive_reader.hpp"
#include "libclient/formats/manifest.hpp"
#include "libclient/transports/transport.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;

// A folder is looked at so often, where nobody says that it has changed (network file systems).
constexpr int kLookMs = 1000;

// Its manifest is read again when its turn comes: a folder may have more of them than memory should.
struct Archive {
  fs::path path;
  uint64_t first_seq, last_seq;
  size_t windows;
};

class FolderTransport final : public Transport {
 public:
  FolderTransport(fs::path folder, const SubscribeOptions& options, StreamQueue& queue, TransportCounts& counts)
      : folder_(std::move(folder)),
        options_(options),
        queue_(queue),
        counts_(counts),
        is_folder_(fs::is_directory(folder_)),
        changes_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    if (changes_) inotify_add_watch(changes_.get(), folder_.c_str(), IN_MOVED_TO | IN_CREATE | IN_CLOSE_WRITE);
    // Looked at here, so that what appears once the subscriber is there is not taken for something older.
    found_ = look();
    counts_.connected.store(true, std::memory_order_relaxed);
    thread_ = std::thread([this] { work(); });
  }
  ~FolderTransport() override { thread_.join(); }

 private:
  void work();
  std::vector<fs::path> archives() const;
  std::vector<Archive> look();
  void find_start(std::vector<Archive>& archives);
  bool read(const Archive& archive);
  bool wanted(const ManifestWindow& window);
  bool put_window(const ManifestHeader& header, const ManifestWindow& window, Member& member);
  void damage() { counts_.damaged.fetch_add(1, std::memory_order_relaxed); }
  void damage(const fs::path& archive, std::string why);
  void wait();

  const fs::path folder_;
  const SubscribeOptions options_;
  StreamQueue& queue_;
  TransportCounts& counts_;
  const bool is_folder_;  // or an archive
  FileDescriptor changes_;
  std::set<std::string> known_;         // names that were looked at
  std::vector<Archive> found_;          // before the start
  std::optional<StreamItem> why_none_;  // an archive that can't be read leaves nothing to follow
  uint64_t run_ = 0, next_ = 0;         // as in the items
  uint64_t pass_over_ = 0;              // windows, before the first that is wanted
  bool started_ = false;                // a window was wanted
  std::thread thread_;                  // last: it uses all of the above
};

void FolderTransport::work() {
  try {
    if (why_none_) return (void)queue_.put_waiting(std::move(*why_none_));
    find_start(found_);
    for (std::vector<Archive> archives = std::move(found_);; archives = look()) {
      for (const Archive& archive : archives)
        if (!read(archive)) return;
      if (why_none_) return (void)queue_.put_waiting(std::move(*why_none_));
      if (!options_.follow || !is_folder_) break;
      wait();
      if (queue_.closed()) return;
    }
    StreamItem end;
    end.kind = StreamItem::Kind::end;
    queue_.put_waiting(std::move(end));
  } catch (const std::exception& failure) {  // a folder that is gone, or out of memory
    StreamItem error;
    error.kind = StreamItem::Kind::error;
    error.error.text = folder_.string() + ": " + failure.what();
    queue_.put_waiting(std::move(error));
  }
}

// Throws when the folder can't be read.
std::vector<fs::path> FolderTransport::archives() const {
  if (!is_folder_) return {folder_};
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder_))
    if (entry.path().extension() == ".tar") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Those that weren't there before.
std::vector<Archive> FolderTransport::look() {
  std::vector<fs::path> paths = archives();
  std::erase_if(paths, [&](const fs::path& path) { return !known_.insert(path.filename().string()).second; });
  std::vector<Archive> archives;
  for (fs::path& path : paths) {
    const auto manifest = load_manifest_of(path);
    if (!manifest || !*manifest || (*manifest)->windows.empty()) {
      damage(path, !manifest    ? manifest.error().text
                   : !*manifest ? "it has no manifest"
                                : "its manifest has no windows");
      continue;
    }
    const auto& windows = (*manifest)->windows;
    archives.push_back({std::move(path), windows.front().seq, windows.back().seq, windows.size()});
  }
  return archives;
}

// Of a folder it is one of many, and counted; `trama verify` says why. An archive by itself is all there is.
void FolderTransport::damage(const fs::path& archive, std::string why) {
  damage();
  if (is_folder_) return;
  const std::string name = archive.string();
  if (why.find(name) == std::string::npos) why = name + ": " + why;
  why_none_.emplace();
  why_none_->kind = StreamItem::Kind::error;
  why_none_->error = {std::move(why), "`trama verify " + name + "` says more; without a manifest beside it (" + name +
                                          ".json) nobody knows the numbers of its windows"};
}

// Takes away what lies before the place where the subscriber wants to begin.
void FolderTransport::find_start(std::vector<Archive>& archives) {
  size_t first = archives.size();
  switch (options_.start) {
    case StartKind::live: break;
    case StartKind::number:  // of the last run there is
      while (first > 0 && (first == archives.size() || archives[first - 1].last_seq < archives[first].first_seq))
        --first;
      break;
    case StartKind::last: {
      uint64_t windows = 0;
      while (first > 0 && windows < options_.start_at) windows += archives[--first].windows;
      pass_over_ = windows - std::min(windows, options_.start_at);
      break;
    }
    case StartKind::time: first = 0; break;
  }
  archives.erase(archives.begin(), archives.begin() + static_cast<ptrdiff_t>(first));
}

bool FolderTransport::wanted(const ManifestWindow& window) {
  if (started_) return true;
  if (pass_over_ > 0) return --pass_over_, false;
  if (options_.start == StartKind::number && window.seq < options_.start_at) return false;
  if (options_.start == StartKind::time && window.last_ns < static_cast<int64_t>(options_.start_at)) return false;
  return started_ = true;
}

// False: the queue was closed. A window that can't be read is missed: the number of the next one says so.
bool FolderTransport::read(const Archive& archive) {
  auto reader = ArchiveReader::open(archive.path, options_.max_bytes, SpecialFiles::refused);
  const auto manifest = load_manifest_of(archive.path);
  if (!reader || !manifest || !*manifest)
    return damage(archive.path, reader ? "its manifest is gone" : reader.error().text), true;
  Member member;
  for (const ManifestWindow& window : (*manifest)->windows) {
    const auto more = reader->next(member);
    if (!more || !*more || member.name != window.member) {
      damage();
      break;
    }
    if (wanted(window) && !put_window((*manifest)->header, window, member)) return false;
  }
  if (!started_) return true;
  StreamItem tail;
  tail.kind = StreamItem::Kind::tail;
  tail.number = next_ = archive.last_seq + 1;
  tail.info.verdicts = (*manifest)->tail;
  return queue_.put_waiting(std::move(tail));
}

bool FolderTransport::put_window(const ManifestHeader& header, const ManifestWindow& window, Member& member) {
  if (run_ == 0 || window.seq < next_) {  // numbers that begin anew are those of another run
    StreamItem begin;
    begin.kind = StreamItem::Kind::begin;
    begin.number = ++run_ == 1 ? window.seq : 0;
    begin.run = run_;
    if (!queue_.put_waiting(std::move(begin))) return false;
  }
  next_ = window.seq + 1;
  if (xxh3_128_hex(member.bytes) != window.xxh3_128) {
    damage();
    return true;
  }
  const auto kept = std::make_shared<const std::vector<uint8_t>>(std::move(member.bytes));
  StreamItem item;
  item.kind = StreamItem::Kind::window;
  item.info = window_info(envelope_of(header, window));
  item.matrix = {kept, *kept};
  return queue_.put_waiting(std::move(item));
}

void FolderTransport::wait() {
  pollfd events[] = {{changes_.get(), POLLIN, 0}, {queue_.room_descriptor(), POLLIN, 0}};
  poll(events, 2, kLookMs);
  queue_.clear_room();
  char names[4096];
  while (changes_ && ::read(changes_.get(), names, sizeof names) > 0) continue;
}

}  // namespace

FormatExpected<std::unique_ptr<Transport>> follow_folder(const StreamUrl& url, const SubscribeOptions& options,
                                                         StreamQueue& queue, TransportCounts& counts) {
  std::error_code error;
  if (!fs::is_directory(url.path, error) && !fs::is_regular_file(url.path, error))
    return format_failure(url.path + ": neither a folder nor a file",
                          "a file URL names the folder that archives are in, or an archive");
  return std::make_unique<FolderTransport>(url.path, options, queue, counts);
}

}  // namespace trama
