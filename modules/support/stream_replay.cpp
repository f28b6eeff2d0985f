#include "modules/support/stream_replay.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <csignal>
#include <new>
#include <system_error>

namespace trama {
namespace {

constexpr size_t kMostAnswers = 4;      // windows that wait for whoever takes them
constexpr size_t kMostRequests = 4096;  // one of each of the most subscribers

}  // namespace

StreamReplay::StreamReplay(std::shared_ptr<const ArchiveLog> log, uint64_t max_bytes)
    : log_(std::move(log)), max_bytes_(max_bytes), answered_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!answered_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

StreamReplay::~StreamReplay() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StreamReplay::begin(StreamIdentity identity) {
  thread_ = std::thread([this, archives = StreamArchives(log_, std::move(identity), max_bytes_)]() mutable {
    sigset_t all;  // they are for the command's own thread
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    work(std::move(archives));
  });
}

bool StreamReplay::ask(ReplayRequest request) {
  {
    const std::lock_guard lock(mutex_);
    if (requests_.size() >= kMostRequests) return false;
    requests_.push_back(std::move(request));
  }
  changed_.notify_all();
  return true;
}

void StreamReplay::withdraw(uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  std::erase_if(requests_, [=](const ReplayRequest& request) { return request.ticket == ticket; });
}

std::optional<ReplayAnswer> StreamReplay::take() {
  std::optional<ReplayAnswer> answer;
  {
    const std::lock_guard lock(mutex_);
    if (answers_.empty()) return answer;
    answer = std::move(answers_.front());
    answers_.pop_front();
    eventfd_t value;
    if (answers_.empty()) (void)eventfd_read(answered_.get(), &value);
  }
  changed_.notify_all();
  return answer;
}

void StreamReplay::work(StreamArchives archives) {
  for (;;) {
    ReplayRequest request;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return over_ || (!requests_.empty() && answers_.size() < kMostAnswers); });
      if (over_) return;
      request = std::move(requests_.front());
      requests_.pop_front();
    }
    ReplayAnswer answer{std::move(request.peer), request.ticket, request.below, std::nullopt};
    try {
      answer.window = archives.find(request.from, request.below, request.time_ns);
    } catch (const std::bad_alloc&) {  // told as missed, as any other that can't be had
    }
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
    (void)eventfd_write(answered_.get(), 1);
  }
}

}  // namespace trama
