// Packets that interfaces have lost before anybody could see them, by the kernel's counters.
//
// Counted is rx_missed_errors: for these packets the hardware had no room (linux/if_link.h). Some drivers count such
// losses as rx_dropped, but there the kernel counts packets too that only this capture wanted, every one with a VLAN
// tag that no interface of the system has, for example. So rx_dropped is told apart, and is a remark rather than a
// loss.
//
// The kernel answers under a lock that whoever configures interfaces may hold for long. So it is asked once a second by
// a thread, whose last results anybody has at once.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "modules/support/growing_counter.hpp"

namespace trama {

struct InterfaceCounters {
  uint64_t missed = 0;   // rx_missed_errors
  uint64_t dropped = 0;  // rx_dropped
};
// Of an interface of this index; none when there is no such interface.
using AskInterface = std::function<std::optional<InterfaceCounters>(int index)>;

// Asks by netlink, in the network namespace of the thread that calls this. Allocates with each answer.
AskInterface netlink_counters();

class NetworkLosses {
 public:
  // Counts from now on, the interfaces of these indices together.
  NetworkLosses(const std::vector<int>& indices, AskInterface ask = netlink_counters());
  ~NetworkLosses();
  NetworkLosses(const NetworkLosses&) = delete;
  NetworkLosses& operator=(const NetworkLosses&) = delete;

  // Missed packets that have become known since the last call. Any thread, never waits for the kernel.
  uint64_t take() noexcept { return missed_.exchange(0, std::memory_order_relaxed); }
  // At the end: asks once more, waits for the answer, and never asks again.
  void finish();
  uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }  // all of them

 private:
  struct Counted {
    int index;
    GrowingCounter missed, dropped;
  };
  void read();
  void work();

  const AskInterface ask_;
  std::vector<Counted> interfaces_;  // the thread's, until it has ended
  std::atomic<uint64_t> missed_{0}, dropped_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace trama
