// Between the thread that reads a stream and the one that calls next(). Part of subscriber.hpp, not meant for others.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "libclient/formats/file_bytes.hpp"
#include "libclient/stream_window.hpp"

namespace trama {

struct StreamItem {
  enum class Kind {
    begin,   // run, number: GapCounter::begin
    pass,    // number: GapCounter::pass
    window,  // info, matrix
    tail,    // number: GapCounter::pass; go_on: GapCounter::leave_out; info: verdicts behind the last window
    end,     // number; nothing follows
    error,   // nothing follows
  };
  Kind kind = Kind::pass;
  uint64_t run = 0, number = 0, go_on = 0;
  WindowInfo info;
  SharedBytes matrix;
  FormatError error;
};

// One thread puts, one takes.
class StreamQueue {
 public:
  // Windows that may wait here; the other items are few.
  explicit StreamQueue(size_t windows);

  // Throws the oldest waiting window away to make room; its number will be missed.
  void put_dropping(StreamItem item);
  // Waits for room. False: the queue has been closed.
  bool put_waiting(StreamItem item);

  // The next item; nothing when none has come by then. `end` and `error` stay where they are.
  std::optional<StreamItem> take(std::chrono::steady_clock::time_point until);

  // Readable while there are items.
  int descriptor() const { return items_event_.get(); }
  // Readable when windows have been taken and the queue is half empty, or when it was closed, since it was last read.
  int room_descriptor() const { return room_event_.get(); }
  void clear_room() const;
  size_t windows() const;  // waiting
  void close();
  bool closed() const;
  void wait_until_closed(std::chrono::steady_clock::time_point until);

 private:
  void append(StreamItem item);
  void drop_oldest_window();

  const size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<StreamItem> items_;
  size_t windows_ = 0;  // among the items
  bool closed_ = false;
  FileDescriptor items_event_, room_event_;
};

}  // namespace trama
