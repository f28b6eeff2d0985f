#include "libclient/stream_queue.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace trama {
namespace {

FileDescriptor new_event() {
  FileDescriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) throw std::system_error(errno, std::generic_category(), "eventfd");
  return event;
}

// A counter that is full or empty already is as it should be.
void raise(const FileDescriptor& event) { (void)eventfd_write(event.get(), 1); }
void lower(const FileDescriptor& event) {
  eventfd_t value;
  (void)eventfd_read(event.get(), &value);
}

bool is_last(const StreamItem& item) {
  return item.kind == StreamItem::Kind::end || item.kind == StreamItem::Kind::error;
}

}  // namespace

StreamQueue::StreamQueue(size_t windows) : most_(windows), items_event_(new_event()), room_event_(new_event()) {}

void StreamQueue::append(StreamItem item) {
  // Of a publisher that says what nobody needs to hear; the next window's number tells what is missing. What belongs to
  // a run must not be taken for the run before: of runs without windows the last one is known.
  const bool needed = item.kind == StreamItem::Kind::window || is_last(item);
  if (!needed && items_.size() >= 4 * most_ + 64) {
    if (item.kind != StreamItem::Kind::begin) return;
    while (!items_.empty() && items_.back().kind != StreamItem::Kind::window && !is_last(items_.back()))
      items_.pop_back();
  }
  windows_ += item.kind == StreamItem::Kind::window;
  const bool again = item.kind == StreamItem::Kind::pass && !items_.empty() && items_.back().kind == item.kind;
  if (again)
    items_.back() = std::move(item);  // so that they never are many
  else
    items_.push_back(std::move(item));
  if (items_.size() == 1) raise(items_event_);
}

void StreamQueue::drop_oldest_window() {
  const auto oldest = std::find_if(items_.begin(), items_.end(),
                                   [](const StreamItem& item) { return item.kind == StreamItem::Kind::window; });
  items_.erase(oldest);
  --windows_;
}

void StreamQueue::put_dropping(StreamItem item) {
  {
    const std::lock_guard lock(mutex_);
    if (item.kind == StreamItem::Kind::window && windows_ == most_) drop_oldest_window();
    append(std::move(item));
  }
  changed_.notify_all();  // without the lock, which whoever wakes up wants first
}

bool StreamQueue::put_waiting(StreamItem item) {
  std::unique_lock lock(mutex_);
  if (item.kind == StreamItem::Kind::window) changed_.wait(lock, [&] { return closed_ || windows_ < most_; });
  if (closed_) return false;
  append(std::move(item));
  lock.unlock();
  changed_.notify_all();
  return true;
}

std::optional<StreamItem> StreamQueue::take(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, until, [&] { return !items_.empty(); })) return std::nullopt;
  if (is_last(items_.front())) return items_.front();
  StreamItem item = std::move(items_.front());
  items_.pop_front();
  if (items_.empty()) lower(items_event_);
  if (item.kind == StreamItem::Kind::window) {
    --windows_;
    // Not for each of them: whoever fills the queue does so by halves of it.
    if (windows_ <= most_ / 2) raise(room_event_);
    changed_.notify_all();
  }
  return item;
}

void StreamQueue::clear_room() const { lower(room_event_); }

size_t StreamQueue::windows() const {
  const std::lock_guard lock(mutex_);
  return windows_;
}

void StreamQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  raise(room_event_);
  changed_.notify_all();
}

void StreamQueue::wait_until_closed(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&] { return closed_; });
}

bool StreamQueue::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace trama
