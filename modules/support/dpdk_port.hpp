// A port of DPDK's as a device of packets.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "modules/support/dpdk_log.hpp"
#include "modules/support/dpdk_options.hpp"
#include "modules/support/dpdk_queue.hpp"
#include "modules/support/growing_counter.hpp"
#include "modules/support/packet_device.hpp"

namespace trama {

// What decides how a driver is treated.
struct DpdkDriver {
  std::string name;       // "net_mlx5"
  std::string arguments;  // of the device, as it was asked for

  // Software that only copies what others get as well, or that makes its own traffic. All other drivers take frames
  // away from the host.
  bool leaves_traffic() const;
  bool reads_file() const;  // net_pcap with a file that comes to an end
};

class DpdkPort final : public PacketDevice {
 public:
  // Configures and starts port `number` of DPDK's. What the driver can't do but isn't necessary goes to `remarks`.
  // `temporary`: its device was made for this port only, and is taken off DPDK again when the port is closed.
  static Expected<std::unique_ptr<DpdkPort>> open(uint16_t number, bool temporary, const DpdkOptions& options,
                                                  Diagnostics& remarks);
  ~DpdkPort() override;

  const std::string& name() const noexcept override { return name_; }
  size_t queues() const noexcept override { return queues_.size(); }
  ReceiveQueue& queue(size_t number) noexcept override { return *queues_[number]; }
  DeviceLosses take_losses() noexcept override;

 private:
  DpdkPort(uint16_t number, bool temporary, const DpdkOptions& options);

  Expected<void> look();
  Expected<void> configure(bool interrupts);
  Expected<void> set_up_queues(const DpdkLogWatch& log);
  Expected<void> start(Diagnostics& remarks);
  void filter(Diagnostics& remarks);
  void choose_wait(Diagnostics& remarks);
  std::optional<MbufTime> time() const;
  tl::unexpected<Diagnostic> refused(const std::string& what, const std::string& reason, std::string hint = "") const;

  const uint16_t number_;
  const bool temporary_;
  const DpdkOptions options_;
  std::string name_;
  DpdkDriver driver_;
  uint16_t queues_wanted_ = 1, descriptors_ = 0;
  std::vector<Mempool> pools_;
  std::vector<std::unique_ptr<DpdkQueue>> queues_;
  GrowingCounter missed_, no_mbuf_, errors_;
  bool started_ = false, interrupts_ = false;
};

}  // namespace trama
