#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "control/doctor_findings.hpp"
#include "control/terminal.hpp"
#include "engine/suggest.hpp"
#include "modules/support/header_walk.hpp"
#include "modules/support/network_interface.hpp"
#include "modules/support/packet_socket_frame.hpp"

namespace trama {
namespace {

using State = Finding::State;

// What a device says of itself when it is asked by ioctl. Empty and 0: it doesn't say.
struct DeviceFacts {
  std::string driver;
  unsigned receive_queues = 0;
  int mtu = 0;
};

DeviceFacts facts_of(const std::string& device) {
  DeviceFacts facts;
  const int asker = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto ask = [&](unsigned long request, void* command, ifreq& answer) {
    std::memset(&answer, 0, sizeof answer);
    device.copy(answer.ifr_name, IFNAMSIZ - 1);
    if (command) answer.ifr_data = static_cast<char*>(command);
    return ioctl(asker, request, &answer) == 0;
  };
  ifreq answer;
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  if (ask(SIOCETHTOOL, &driver, answer))
    facts.driver.assign(driver.driver, strnlen(driver.driver, sizeof driver.driver));
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  if (ask(SIOCETHTOOL, &channels, answer)) facts.receive_queues = channels.rx_count + channels.combined_count;
  if (ask(SIOCGIFMTU, nullptr, answer)) facts.mtu = answer.ifr_mtu;
  if (asker >= 0) close(asker);
  return facts;
}

// Drivers that run XDP programs themselves, as of Linux 6.1 (`git grep ndo_bpf drivers/`). What a driver then refuses,
// as an MTU above a page, shows when a program is attached.
bool has_native_xdp(const std::string& driver) {
  static constexpr std::string_view kNative[] = {
      "atlantic",  "bnxt_en",   "bonding", "dpaa2-eth", "ena",    "fsl_dpa",    "fsl_enetc",    "funeth",  "gve",
      "hv_netvsc", "i40e",      "ice",     "igb",       "igc",    "ixgbe",      "ixgbevf",      "lan966x", "mana",
      "mlx4_en",   "mlx5_core", "mvneta",  "mvpp2",     "netsec", "nfp",        "nicvf",        "qede",    "rvu_nicpf",
      "sfc",       "stmmac",    "tsnep",   "tun",       "veth",   "virtio_net", "xen_netfront", "vmxnet3"};
  return std::find(std::begin(kNative), std::end(kNative), driver) != std::end(kNative);
}

std::string link_type_name(uint16_t link_type) {
  switch (link_type) {
    case 1: return "Ethernet";
    case 9: return "PPP";
    case 101: return "raw IP";
    case 105: return "802.11";
    case 113: return "cooked";
    case 127: return "802.11 with radiotap";
    default: return "link type " + std::to_string(link_type);
  }
}

std::string describe(const NetworkInterface& interface, uint16_t link_type) {
  if (interface.loopback) return "loopback";
  const DeviceFacts facts = facts_of(interface.device);
  std::string text = link_type_name(link_type);
  text += interface.up ? ", up" : ", down";
  if (!facts.driver.empty()) text += ", driver " + facts.driver;
  if (facts.mtu > 0) text += ", MTU " + std::to_string(facts.mtu);
  if (facts.receive_queues > 0) text += ", " + counted(facts.receive_queues, "receive queue");
  if (link_type == 1) text += std::string(", filters ") + (has_native_xdp(facts.driver) ? "native" : "generic");
  return text;
}

Finding examine(const NetworkInterface& interface) {
  const uint16_t link_type = link_type_of(interface.hardware_type);
  Finding finding{State::ok, "interface " + interface.name, describe(interface, link_type), ""};
  std::vector<std::string> mending;
  if (!walks(link_type)) {
    finding.state = State::note;
    finding.value += " (its packets would all be unknown_link)";
  }
  if (!interface.up) {
    finding.state = State::note;
    mending.push_back("sudo ip link set " + interface.device + " up");
  }
  // A loopback interface has no wire whose packets could be counted.
  const auto merging = interface.loopback ? std::vector<std::string>() : merging_offloads(interface);
  if (!merging.empty()) {
    finding.state = State::note;
    finding.value += "; merges received packets, so that fewer are counted: " + joined(merging);
    mending.push_back("sudo ethtool -K " + interface.device + " " + joined(merging, " off ") + " off");
  }
  finding.mend = joined(mending, "; ");
  return finding;
}

}  // namespace

Findings interface_findings() {
  Findings findings;
  for (const std::string& name : interface_names())
    if (const auto interface = find_interface(name)) findings.push_back(examine(*interface));
  if (findings.empty()) findings.push_back({State::missing, "interfaces", "none (only for capturing)", ""});
  return findings;
}

}  // namespace trama
