// The plug-in trama-af_xdp.so: opens interfaces for AF_XDP. It is all of Trama that needs libxdp.
#include <bpf/bpf.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "modules/support/device_plugin.hpp"
#include "modules/support/network_losses.hpp"
#include "modules/support/xdp_socket.hpp"

namespace trama {
namespace {

// A socket, only for asking and telling the kernel of interfaces.
class Asking {
 public:
  Asking() : descriptor_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {}
  ~Asking() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  int descriptor() const { return descriptor_; }
  bool ask(const std::string& interface, unsigned long request, ifreq& answer) const {
    interface.copy(answer.ifr_name, sizeof answer.ifr_name - 1);
    return ioctl(descriptor_, request, &answer) == 0;
  }

 private:
  const int descriptor_;
};

uint32_t receive_queues(const Asking& asking, const std::string& interface) {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request{};
  request.ifr_data = reinterpret_cast<char*>(&channels);
  // A driver that can't be asked has one.
  if (!asking.ask(interface, SIOCETHTOOL, request)) return 1;
  return std::max(1u, channels.rx_count + channels.combined_count);
}

class XdpInterface final : public XdpDevice {
 public:
  static Expected<std::unique_ptr<XdpInterface>> open(const std::string& name, const XdpSocketOptions& options,
                                                      Diagnostics& remarks);
  ~XdpInterface() override {
    if (sockets_ >= 0) close(sockets_);
  }
  XdpInterface(const XdpInterface&) = delete;
  XdpInterface& operator=(const XdpInterface&) = delete;

  const std::string& name() const noexcept override { return name_; }
  size_t queues() const noexcept override { return queues_.size(); }
  ReceiveQueue& queue(size_t number) noexcept override { return *queues_[number]; }
  int sockets() const noexcept override { return sockets_; }
  bool zero_copy() const noexcept override {
    return std::all_of(queues_.begin(), queues_.end(), [](const auto& queue) { return queue->zero_copy(); });
  }
  DeviceLosses take_losses() noexcept override {
    DeviceLosses losses;
    losses.nic = before_.take();
    for (const auto& queue : queues_) losses.ring += queue->take_lost();
    return losses;
  }
  void finish() override { before_.finish(); }

 private:
  explicit XdpInterface(const std::string& name)
      : name_(name), before_({static_cast<int>(if_nametoindex(name.c_str()))}) {}
  void make_promiscuous(Diagnostics& remarks);

  const std::string name_;
  Asking asking_;  // while it is open, the interface stays promiscuous
  NetworkLosses before_;
  int sockets_ = -1;
  std::vector<std::unique_ptr<XdpSocket>> queues_;
};

Expected<std::unique_ptr<XdpInterface>> XdpInterface::open(const std::string& name, const XdpSocketOptions& options,
                                                           Diagnostics& remarks) {
  std::unique_ptr<XdpInterface> device(new XdpInterface(name));
  ifreq answer{};
  if (!device->asking_.ask(name, SIOCGIFMTU, answer))
    return failure("the kernel tells nothing of " + name + ": " + std::strerror(errno), "it takes CAP_NET_RAW");
  const uint32_t queues = receive_queues(device->asking_, name);
  device->sockets_ = bpf_map_create(BPF_MAP_TYPE_XSKMAP, "trama_sockets", sizeof(int), sizeof(int), queues, nullptr);
  if (device->sockets_ < 0) return failure(std::string("there can be no map of sockets: ") + std::strerror(errno));
  // All of them: what the card puts into another queue would go to the host, and not be counted.
  for (uint32_t queue = 0; queue < queues; ++queue) {
    auto socket = XdpSocket::open({.interface = name,
                                   .queue = queue,
                                   .mtu = static_cast<uint32_t>(answer.ifr_mtu),
                                   .frames = std::bit_ceil(static_cast<uint32_t>(options.frames)),
                                   .copy = options.copy});
    if (!socket) return tl::unexpected(std::move(socket.error()));
    if (!(*socket)->enter(device->sockets_))
      return failure(std::string("a socket can't be put into its map: ") + std::strerror(errno));
    device->queues_.push_back(std::move(*socket));
  }
  if (const uint32_t longest = device->queues_.front()->longest_frame(); longest < UINT32_MAX)
    if (static_cast<uint32_t>(answer.ifr_mtu) > longest)
      remarks.push_back({Severity::warning,
                         {},
                         "frames of more than " + std::to_string(longest) + " bytes on " + name +
                             " are lost: this kernel can't give them in pieces",
                         ""});
  if (options.promiscuous) device->make_promiscuous(remarks);
  return device;
}

void XdpInterface::make_promiscuous(Diagnostics& remarks) {
  packet_mreq wish{};
  wish.mr_ifindex = static_cast<int>(if_nametoindex(name_.c_str()));
  wish.mr_type = PACKET_MR_PROMISC;
  if (setsockopt(asking_.descriptor(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &wish, sizeof wish) != 0)
    remarks.push_back(
        {Severity::warning, {}, name_ + " receives only what is sent to it: " + std::strerror(errno), ""});
}

Expected<OpenedDevices> open_xdp_sockets(const XdpSocketOptions& options) {
  OpenedDevices opened;
  for (const std::string& interface : options.interfaces) {
    auto device = XdpInterface::open(interface, options, opened.remarks);
    if (!device) return tl::unexpected(std::move(device.error()));
    opened.devices.push_back(std::move(*device));
  }
  return opened;
}

}  // namespace

TRAMA_EXPORT_DEVICE_PLUGIN(XdpSocketOptions, open_xdp_sockets);

}  // namespace trama
