// The plug-in trama-dpdk.so: opens DPDK's ports. It is all of Trama that needs DPDK's libraries.
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include <algorithm>

#include "modules/support/device_plugin.hpp"
#include "modules/support/dpdk_eal.hpp"
#include "modules/support/dpdk_log.hpp"
#include "modules/support/dpdk_port.hpp"

namespace trama {
namespace {

std::vector<uint16_t> all_ports() {
  std::vector<uint16_t> ports;
  // The ports that no other driver has taken for itself; RTE_ETH_FOREACH_DEV narrows its numbers.
  const auto next = [](uint64_t port) {
    return rte_eth_find_next_owned_by(static_cast<uint16_t>(port), RTE_ETH_DEV_NO_OWNER);
  };
  for (uint64_t port = next(0); port < RTE_MAX_ETHPORTS; port = next(port + 1))
    ports.push_back(static_cast<uint16_t>(port));
  return ports;
}

// Ports of the device or of the name: one device may have several.
std::vector<uint16_t> ports_of(const std::string& device) {
  const std::string name = device.substr(0, device.find(','));
  std::vector<uint16_t> found;
  for (const uint16_t port : all_ports()) {
    char port_name[RTE_ETH_NAME_MAX_LEN] = "";
    rte_eth_dev_get_name_by_port(port, port_name);
    rte_eth_dev_info info{};
    const bool on_device = rte_eth_dev_info_get(port, &info) == 0 && info.device && rte_dev_name(info.device) == name;
    if (on_device || name == port_name) found.push_back(port);
  }
  return found;
}

struct FoundPort {
  uint16_t number = 0;
  bool probed = false;  // by us
};

Expected<void> find_ports(const std::string& device, std::vector<FoundPort>& found) {
  const auto add = [&](uint16_t port, bool probed) {
    const auto same = [port](const FoundPort& other) { return other.number == port; };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back({port, probed});
  };
  if (device == "all") {
    for (const uint16_t port : all_ports()) add(port, false);
    return {};
  }
  std::vector<uint16_t> ports = ports_of(device);
  const bool probes = ports.empty();
  if (probes) {
    const DpdkLogWatch log;
    const int status = rte_dev_probe(device.c_str());
    if (status == 0) ports = ports_of(device);
    if (ports.empty())
      return failure("DPDK has no device `" + device + "`: " + log.reason(rte_strerror(-status)),
                     "a device is a PCI address, as `dpdk-devbind.py --status` shows, or a virtual one as in "
                     "net_pcap0,rx_pcap=FILE; an interface of the kernel's is captured from with -i IFACE");
  }
  for (const uint16_t port : ports) add(port, probes);
  return {};
}

Expected<OpenedDevices> open_dpdk(const DpdkOptions& options) {
  OpenedDevices opened;
  if (auto started = start_eal(options, opened.remarks); !started) return tl::unexpected(started.error());
  std::vector<FoundPort> found;
  for (const std::string& device : options.devices)
    if (auto ports = find_ports(device, found); !ports) return tl::unexpected(ports.error());
  if (found.empty())
    return failure("DPDK has found no port", "dpdk-devbind.py --status shows devices and their drivers");
  for (const FoundPort& each : found) {
    auto port = DpdkPort::open(each.number, each.probed, options, opened.remarks);
    if (!port) return tl::unexpected(port.error());
    opened.devices.push_back(std::move(*port));
  }
  return opened;
}

}  // namespace

TRAMA_EXPORT_DEVICE_PLUGIN(DpdkOptions, open_dpdk);

}  // namespace trama
