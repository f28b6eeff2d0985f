#include "modules/support/network_losses.hpp"

#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <pthread.h>

#include <chrono>

namespace trama {

AskInterface netlink_counters() {
  const std::shared_ptr<nl_sock> socket(nl_socket_alloc(), nl_socket_free);
  if (!socket || nl_connect(socket.get(), NETLINK_ROUTE) != 0)
    return [](int) -> std::optional<InterfaceCounters> { return std::nullopt; };
  return [socket](int index) -> std::optional<InterfaceCounters> {
    rtnl_link* link = nullptr;
    if (rtnl_link_get_kernel(socket.get(), index, nullptr, &link) != 0) return std::nullopt;
    const InterfaceCounters counters{rtnl_link_get_stat(link, RTNL_LINK_RX_MISSED_ERR),
                                     rtnl_link_get_stat(link, RTNL_LINK_RX_DROPPED)};
    rtnl_link_put(link);
    return counters;
  };
}

NetworkLosses::NetworkLosses(const std::vector<int>& indices, AskInterface ask) : ask_(std::move(ask)) {
  for (const int index : indices)
    if (const auto now = ask_(index))
      interfaces_.push_back({index, GrowingCounter(now->missed), GrowingCounter(now->dropped)});
  thread_ = std::thread([this] { work(); });
}

NetworkLosses::~NetworkLosses() { finish(); }

void NetworkLosses::work() {
  pthread_setname_np(pthread_self(), "losses");
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::seconds(1), [this] { return ending_; })) {
    lock.unlock();
    read();
    lock.lock();
  }
}

void NetworkLosses::read() {
  for (Counted& interface : interfaces_) {
    const auto now = ask_(interface.index);
    if (!now) continue;
    missed_.fetch_add(interface.missed.grown_to(now->missed), std::memory_order_relaxed);
    dropped_.fetch_add(interface.dropped.grown_to(now->dropped), std::memory_order_relaxed);
  }
}

void NetworkLosses::finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  read();
}

}  // namespace trama
