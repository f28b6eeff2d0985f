// A Subscriber that Python threads can share, be interrupted in, and fork with.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "libclient/subscriber.hpp"
#include "python/objects.hpp"

namespace trama::python {

// Every method is called with the interpreter's lock held, and gives it away while it waits or decodes.
class Stream {
 public:
  Stream(const std::string& url, const SubscribeOptions& options);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // The next window, or what happened instead; waits without end when there is no timeout. Raises what a signal handler
  // raises (KeyboardInterrupt), trama.Error, and ValueError once the stream is closed, from another thread, too.
  pybind11::object next(std::optional<double> timeout_s);
  // Those that wait are woken. Can be called again.
  void close();
  bool closed() const { return !subscriber_; }
  int descriptor();
  bool connected() { return shared()->connected(); }
  // These go on being there when the stream is closed, as they were then.
  StreamCounts counts();
  VerdictCounts tail();
  uint64_t missed_at_end() const { return missed_at_end_; }

 private:
  std::shared_ptr<Subscriber> shared() const;
  bool forked() const;
  Next take(Subscriber& subscriber);
  void look();
  pybind11::object to_object(Next next);

  std::shared_ptr<Subscriber> subscriber_;  // null: closed. Those who wait have it, too
  std::mutex one_at_a_time_;                // guards what it points to; never waited for with the interpreter's lock
  StreamCounts counts_;
  VerdictCounts tail_;
  uint64_t missed_at_end_ = 0;
  const pid_t process_;
};

}  // namespace trama::python
