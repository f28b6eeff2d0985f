#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>

#include "control/doctor_findings.hpp"
#include "control/terminal.hpp"
#include "modules/support/device_plugin.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

// "hugepages-2048kB" is a folder for each size that the processor has.
Finding huge_pages() {
  std::string sizes;
  uint64_t free_bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/kernel/mm/hugepages", error)) {
    const std::string name = entry.path().filename();
    uint64_t kib = 0, pages = 0;
    std::istringstream(name.substr(name.find('-') + 1)) >> kib;
    std::ifstream(entry.path() / "free_hugepages") >> pages;
    free_bytes += (kib << 10) * pages;
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(pages) + " of " + short_bytes(kib << 10);
  }
  return {
      free_bytes > 0 ? State::ok : State::missing, "free huge pages",
      (sizes.empty() ? "none" : sizes) + std::string(free_bytes > 0 ? "" : " (only for dpdk, which is slower without)"),
      "echo 512 | sudo tee /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"};
}

size_t entries_in(const fs::path& folder) {
  std::error_code error;
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder, error), {}));
}

// Plug-ins of DPDK's own, in a folder that has its version in its name; each has several names there.
std::set<std::string> dpdk_drivers() {
  std::set<std::string> drivers;
  std::error_code error;
  for (const auto& architecture : fs::directory_iterator("/usr/lib", error))
    for (const auto& version : fs::directory_iterator(architecture.path() / "dpdk", error))
      for (const auto& file : fs::directory_iterator(version.path(), error))
        if (const std::string name = file.path().filename(); name.starts_with("librte_net_"))
          drivers.insert(name.substr(0, name.find(".so")));
  return drivers;
}

Finding dpdk() {
  const auto plugin = load_device_plugin({"trama-dpdk.so", "DPDK", "librte-meta-net", "libdpdk-dev"});
  if (!plugin) return {State::missing, "DPDK", plugin.error().text + " (only for dpdk)", plugin.error().hint};
  const size_t drivers = dpdk_drivers().size();
  if (drivers == 0)
    return {State::missing, "DPDK", "loads, but no driver is installed (only for dpdk)",
            "sudo apt-get install librte-meta-net"};
  return {State::ok, "DPDK", "loads; " + counted(drivers, "driver"), ""};
}

// How DPDK gets a card for itself.
Finding card_access() {
  std::error_code error;
  const bool vfio = fs::exists("/dev/vfio/vfio", error), uio = entries_in("/sys/class/uio") > 0;
  const size_t groups = entries_in("/sys/kernel/iommu_groups");
  std::string value = vfio ? "vfio" : uio ? "uio" : "neither vfio nor uio";
  value += ", " + counted(groups, "IOMMU group");
  const bool usable = (vfio && groups > 0) || uio;
  return {usable ? State::ok : State::missing, "cards for DPDK",
          value + (usable ? "" : " (only for dpdk with a card of its own)"),
          groups == 0 ? "sudo modprobe vfio enable_unsafe_noiommu_mode=1 && sudo modprobe vfio-pci"
                      : "sudo modprobe vfio-pci"};
}

}  // namespace

Findings device_findings() { return {dpdk(), huge_pages(), card_access()}; }

}  // namespace trama
