// Which archives a run writes, and which of its windows each of them has: for those who read in them while it goes on.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>

namespace trama {

struct LoggedArchive {
  std::filesystem::path path;    // as it is called now: while it is being written with `.part` at the end
  uint64_t first = 0, last = 0;  // numbers of its windows that are whole on the disk
  int64_t last_ns = 0;           // the latest time of a packet in them
  bool finished = false;
};

// Thread-safe. Its memory is bounded: of very long runs it knows the last kMost archives.
class ArchiveLog {
 public:
  static constexpr size_t kMost = 4096;

  // This window is whole in that archive, and its line in the journal. Numbers ascend.
  void wrote(const std::filesystem::path& part, uint64_t seq, int64_t last_ns) {
    const std::lock_guard lock(mutex_);
    if (archives_.empty() || archives_.back().finished || archives_.back().path != part) {
      archives_.push_back({part, seq, seq, last_ns, false});
      if (archives_.size() > kMost) archives_.pop_front();
    }
    archives_.back().last = seq;
    archives_.back().last_ns = std::max(archives_.back().last_ns, last_ns);
  }
  // The oldest that wasn't finished is, and has this name.
  void finished(const std::filesystem::path& archive) {
    const std::lock_guard lock(mutex_);
    const auto open =
        std::find_if(archives_.begin(), archives_.end(), [](const LoggedArchive& one) { return !one.finished; });
    if (open == archives_.end()) return;
    open->path = archive;
    open->finished = true;
  }
  // The first that has windows in [from, below) and packets at this time or later.
  std::optional<LoggedArchive> find(uint64_t from, uint64_t below, int64_t time_ns) const {
    const std::lock_guard lock(mutex_);
    auto archive = std::lower_bound(archives_.begin(), archives_.end(), from,
                                    [](const LoggedArchive& one, uint64_t seq) { return one.last < seq; });
    while (archive != archives_.end() && archive->last_ns < time_ns) ++archive;
    if (archive == archives_.end() || archive->first >= below) return std::nullopt;
    return *archive;
  }

  // Said at setup, by one thread, of each stage of the graph that does so. False: what is read in the archives may not
  // be what is published. Links are not known here, so that there may be one way to a serialized window only.
  bool add_serializer() { return ++serializers_, fits(); }
  bool add_writer() { return ++writers_, fits(); }
  bool add_reader() { return ++readers_, fits(); }
  bool has_writer() const { return writers_ > 0; }
  static constexpr const char* kUnfit =
      "`replay` reads in the archives of the run, which must have the windows that are published";
  static constexpr const char* kUnfitHint =
      "keep one stage that serializes and one that archives, or leave out `replay`";

 private:
  bool fits() const { return readers_ == 0 || (serializers_ <= 1 && writers_ <= 1); }

  size_t serializers_ = 0, writers_ = 0, readers_ = 0;
  mutable std::mutex mutex_;
  std::deque<LoggedArchive> archives_;
};

}  // namespace trama
