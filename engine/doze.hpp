// Where idle workers sleep: one epoll wait for work from other workers (an eventfd) and for packets (a source's
// descriptor) at once.
//
// No wake-up is lost. A sleeper announces itself by a read-modify-write of sleepers_, looks for work once more, and
// only then waits; whoever makes work visible does a read-modify-write of sleepers_ after that. Of the two one comes
// first: either the notifier sees the sleeper, or the sleeper's last look sees the work. A token left over costs one
// look.
//
// Last looks are taken one after the other. A look can miss work without being wrong: the replica is claimed for a
// moment by another worker, or that one is in the middle of taking something out of the ring. It will see the work when
// it looks again, which is certain only as long as this was not its last look too.
//
// Few wake-ups are needless: while a worker is searching nobody is woken, for the searcher will find the work; the last
// searcher that finds some wakes one more to search (as the schedulers of Go and Tokio do).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trama {

class Doze {
 public:
  // One seat for all when any worker can do any work, so that it doesn't matter who wakes up. Otherwise one for each
  // worker: then all that sleep wake up each time, since only they know what they may do.
  explicit Doze(size_t seats = 1);
  ~Doze();
  Doze(const Doze&) = delete;
  Doze& operator=(const Doze&) = delete;

  // Wakes a sleeper the next time that `fd` is readable. Again and again for the same descriptor is fine.
  void watch_once(int fd);

  void search() { searchers_.fetch_add(1, std::memory_order_seq_cst); }
  void found() {
    if (searchers_.fetch_sub(1, std::memory_order_seq_cst) == 1) notify();
  }
  // A searcher gives up; it must look once more after this, and then wait() or cancel(). False: another worker is
  // taking its last look, and this one goes on searching.
  bool announce() {
    if (last_look_.exchange(true, std::memory_order_seq_cst)) return false;
    searchers_.fetch_sub(1, std::memory_order_seq_cst);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    return true;
  }
  // The last look has found work.
  void cancel() {
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    last_look_.store(false, std::memory_order_seq_cst);
    notify();
  }
  // The last look has found nothing: sleeps until notified, a watched descriptor is readable or `timeout_ms` is over
  // (-1: never).
  void wait(size_t worker, int timeout_ms);

  // Work for one worker has become visible. Any thread.
  void notify() {
    if (sleepers_.fetch_add(0, std::memory_order_seq_cst) == 0) return;
    if (seats_.size() > 1)
      wake_all();
    else if (searchers_.load(std::memory_order_seq_cst) == 0)
      wake(seats_.front(), 1);
  }
  // Something has happened that every sleeper must see. Any thread, signal handlers too.
  void notify_all() {
    if (sleepers_.fetch_add(0, std::memory_order_seq_cst) > 0) wake_all();
  }
  uint64_t wakes() const { return wakes_.load(std::memory_order_relaxed); }

 private:
  struct Seat {
    int event = -1;
    int epoll = -1;
  };
  void wake_all();
  void wake(const Seat& seat, int workers);

  std::vector<Seat> seats_;
  alignas(64) std::atomic<int> sleepers_{0};
  std::atomic<bool> last_look_{false};
  alignas(64) std::atomic<int> searchers_{0};
  std::atomic<uint64_t> wakes_{0};
};

}  // namespace trama
