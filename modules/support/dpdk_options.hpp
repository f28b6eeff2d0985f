// What the source `dpdk` wants of its devices, as plain data.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace trama {

struct DpdkOptions {
  enum class HugePages { automatic, on, off };
  enum class Wait { automatic, interrupt, poll };
  enum class Times { automatic, system, device };  // device: it writes nanoseconds since the epoch

  std::vector<std::string> devices;  // "all", PCI addresses, names with arguments of virtual devices, port names
  std::vector<std::string> eal;      // further options of EAL, as words
  HugePages huge_pages = HugePages::automatic;
  uint64_t memory_mb = 0;  // of EAL without huge pages; 0: what the queues need
  uint64_t queues = 0;     // of each device; 0: one for each replica, as far as the device has them
  size_t replicas = 1;
  size_t batch_items = 1024;
  uint64_t descriptors = 4096;  // of a queue; the driver may change it
  uint64_t mbufs = 0;           // of a queue; 0: chosen
  uint64_t burst = 64;
  uint64_t mtu = 0;  // 0: the driver's
  bool promiscuous = true;
  bool tap = false;      // taking traffic from the host is allowed
  bool only_ip = false;  // the device is asked to drop what isn't IPv4 or IPv6
  Wait wait = Wait::automatic;
  Times times = Times::automatic;

  size_t wanted_queues() const { return std::max<size_t>(queues > 0 ? queues : replicas, 1); }
  // Frames that a queue has room for: what waits in the device, and what batches may hold at once.
  uint64_t mbufs_of_queue() const {
    if (mbufs > 0) return mbufs;
    // A graph has 32 batches by default, which all queues of a replica share.
    constexpr uint64_t kBatches = 32, kLeastBatches = 4;
    const uint64_t shared = kBatches * batch_items / wanted_queues();
    return descriptors + std::max(shared, kLeastBatches * batch_items);
  }
};

}  // namespace trama
