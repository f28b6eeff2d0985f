#include "modules/support/dpdk_eal.hpp"

#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>

#include "modules/support/dpdk_log.hpp"

namespace trama {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMbufBytes = 2560;          // with all headers, and padding between memory channels
constexpr uint64_t kOtherBytes = 64ull << 20;  // rings, drivers' own, EAL's

uint64_t bytes_needed(const DpdkOptions& options) {
  // How many devices "all" stands for is not known before EAL has looked.
  const bool all = std::count(options.devices.begin(), options.devices.end(), "all") > 0;
  const uint64_t devices = std::max<uint64_t>(options.devices.size(), all ? 4 : 1);
  return devices * options.wanted_queues() * options.mbufs_of_queue() * kMbufBytes + kOtherBytes;
}

uint64_t free_huge_bytes() {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/kernel/mm/hugepages", error)) {
    uint64_t kib = 0, pages = 0;
    const std::string name = entry.path().filename();  // hugepages-2048kB
    std::istringstream(name.substr(name.find('-') + 1)) >> kib;
    std::ifstream(entry.path() / "free_hugepages") >> pages;
    bytes += kib * 1024 * pages;
  }
  return bytes;
}

bool use_huge_pages(const DpdkOptions& options, Diagnostics& remarks) {
  if (options.huge_pages != DpdkOptions::HugePages::automatic) return options.huge_pages == DpdkOptions::HugePages::on;
  const bool enough = free_huge_bytes() >= bytes_needed(options);
  if (enough && geteuid() == 0) return true;
  const uint64_t pages = (bytes_needed(options) >> 21) + 1;
  remarks.push_back({Severity::note,
                     {},
                     "DPDK runs without huge pages: " +
                         std::string(enough ? "only root may use them" : "there are not enough free ones"),
                     enough ? "" : "echo " + std::to_string(pages) + " | sudo tee /proc/sys/vm/nr_hugepages"});
  return false;
}

bool chooses_cores(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.starts_with("-l") || word.starts_with("-c") || word.starts_with("--lcores");
  });
}

// Without huge pages --in-memory fails; --no-shconf then keeps the same files away.
std::vector<std::string> eal_words(const DpdkOptions& options, bool huge_pages) {
  std::vector<std::string> words = {"trama", "--no-telemetry"};
  if (huge_pages) {
    words.emplace_back("--in-memory");
  } else {
    const uint64_t megabytes = options.memory_mb ? options.memory_mb : (bytes_needed(options) >> 20) + 1;
    words.insert(words.end(), {"--no-huge", "--no-shconf", "-m", std::to_string(megabytes)});
  }
  bool bus_wanted = false;
  for (const std::string& device : options.devices) {
    if (is_pci_address(device)) words.insert(words.end(), {"-a", device});
    bus_wanted |= device == "all" || is_pci_address(device);
  }
  if (!bus_wanted) words.emplace_back("--no-pci");
  // One core of EAL's own, which nothing of ours runs on: it would start a thread for each of them.
  if (!chooses_cores(options.eal)) words.insert(words.end(), {"--lcores", "0@" + std::to_string(sched_getcpu())});
  words.insert(words.end(), options.eal.begin(), options.eal.end());
  return words;
}

Expected<void> initialise(const DpdkOptions& options, Diagnostics& remarks) {
  std::vector<std::string> words = eal_words(options, use_huge_pages(options, remarks));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  capture_dpdk_log();
  const DpdkLogWatch log(/*printing=*/true);
  // It ties the calling thread to a processor, and the engine's workers would inherit that.
  cpu_set_t processors;
  const bool known = pthread_getaffinity_np(pthread_self(), sizeof processors, &processors) == 0;
  const int status = rte_eal_init(static_cast<int>(arguments.size()), arguments.data());
  if (known) pthread_setaffinity_np(pthread_self(), sizeof processors, &processors);
  if (status >= 0) return {};
  return failure("DPDK can't be initialised: " + log.reason(rte_strerror(rte_errno)),
                 "`eal` and `huge_pages` say how it is; docs/dpdk.md has what each machine needs");
}

// Gives the number back when its thread ends.
struct Registration {
  bool tried = false, done = false;
  ~Registration() {
    if (done) rte_thread_unregister();
  }
};

}  // namespace

bool is_pci_address(const std::string& device) {
  const std::string address = device.substr(0, device.find(','));
  unsigned domain, bus, slot, function;
  int used = 0;
  const bool matched = std::sscanf(address.c_str(), "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &used) == 4 ||
                       std::sscanf(address.c_str(), "%2x:%2x.%1x%n", &bus, &slot, &function, &used) == 3;
  return matched && static_cast<size_t>(used) == address.size();
}

Expected<void> start_eal(const DpdkOptions& options, Diagnostics& remarks) {
  static std::mutex mutex;
  static std::optional<Expected<void>> result;  // a second try would only be told that there was a first
  const std::lock_guard lock(mutex);
  if (!result) result = initialise(options, remarks);
  return *result;
}

void register_eal_thread() noexcept {
  thread_local Registration registration;
  if (registration.tried) return;
  registration.tried = true;
  registration.done = rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0;
}

}  // namespace trama
