#include "modules/support/dpdk_port.hpp"

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>

#include <algorithm>

#include "modules/support/dpdk_eal.hpp"
#include "modules/support/dpdk_flow.hpp"
#include "modules/support/dpdk_log.hpp"

namespace trama {
namespace {

constexpr uint16_t kTransmitDescriptors = 64;  // some drivers want as many queues each way; nothing is ever sent

std::string in_words(int status) { return rte_strerror(-status); }

}  // namespace

bool DpdkDriver::leaves_traffic() const {
  constexpr std::string_view kSoftware[] = {"net_pcap", "net_null",  "net_ring",        "net_af_packet",
                                            "net_tap",  "net_memif", "net_virtio_user", "net_vhost"};
  return std::find(std::begin(kSoftware), std::end(kSoftware), name) != std::end(kSoftware);
}

bool DpdkDriver::reads_file() const {
  return name == "net_pcap" && arguments.find("rx_pcap=") != std::string::npos &&
         arguments.find("infinite_rx=1") == std::string::npos;
}

DpdkPort::DpdkPort(uint16_t number, bool temporary, const DpdkOptions& options)
    : number_(number), temporary_(temporary), options_(options) {}

Expected<std::unique_ptr<DpdkPort>> DpdkPort::open(uint16_t number, bool temporary, const DpdkOptions& options,
                                                   Diagnostics& remarks) {
  std::unique_ptr<DpdkPort> port(new DpdkPort(number, temporary, options));
  if (auto known = port->look(); !known) return tl::unexpected(known.error());
  // A driver without interrupts may refuse to be configured with them, or to be started.
  bool done = false;
  if (options.wait != DpdkOptions::Wait::poll) done = port->configure(true) && port->start(remarks);
  if (!done) {
    if (auto configured = port->configure(false); !configured) return tl::unexpected(configured.error());
    if (auto started = port->start(remarks); !started) return tl::unexpected(started.error());
  }
  port->filter(remarks);
  port->choose_wait(remarks);
  return port;
}

tl::unexpected<Diagnostic> DpdkPort::refused(const std::string& what, const std::string& reason,
                                             std::string hint) const {
  return failure("DPDK's " + name_ + " " + what + ": " + reason, std::move(hint));
}

Expected<void> DpdkPort::look() {
  char name[RTE_ETH_NAME_MAX_LEN] = "";
  rte_eth_dev_get_name_by_port(number_, name);
  name_ = name;
  rte_eth_dev_info info{};
  if (const int status = rte_eth_dev_info_get(number_, &info); status != 0)
    return refused("tells nothing of itself", in_words(status));
  driver_.name = info.driver_name ? info.driver_name : "";
  if (info.device && rte_dev_devargs(info.device) && rte_dev_devargs(info.device)->args)
    driver_.arguments = rte_dev_devargs(info.device)->args;
  if (!driver_.leaves_traffic() && !options_.tap)
    return refused("takes traffic away from this host", "its driver is " + driver_.name,
                   "if nothing but a tap is connected there, say so: role = \"tap\"");
  if (options_.queues > info.max_rx_queues)
    return refused("has too few receive queues", "at most " + std::to_string(info.max_rx_queues),
                   "take fewer `queues`");
  queues_wanted_ = static_cast<uint16_t>(std::min<size_t>(options_.wanted_queues(), info.max_rx_queues));
  return {};
}

Expected<void> DpdkPort::configure(bool interrupts) {
  const DpdkLogWatch log;
  rte_eth_dev_info info{};
  rte_eth_dev_info_get(number_, &info);
  rte_eth_conf wanted{};
  // Tags stay where they are: no VLAN offload is asked for.
  if (options_.mtu > 0) wanted.rxmode.mtu = static_cast<uint32_t>(options_.mtu);
  wanted.rxmode.offloads = info.rx_offload_capa & (RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_TIMESTAMP);
  if (options_.mtu + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN <= RTE_MBUF_DEFAULT_DATAROOM)
    wanted.rxmode.offloads &= ~uint64_t{RTE_ETH_RX_OFFLOAD_SCATTER};
  if (options_.times != DpdkOptions::Times::device) wanted.rxmode.offloads &= ~uint64_t{RTE_ETH_RX_OFFLOAD_TIMESTAMP};
  if (queues_wanted_ > 1 && (info.flow_type_rss_offloads & RTE_ETH_RSS_IP) != 0) {
    wanted.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    wanted.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & RTE_ETH_RSS_IP;
  }
  wanted.intr_conf.rxq = interrupts;
  const uint16_t transmitting = std::min(queues_wanted_, info.max_tx_queues);
  int status = rte_eth_dev_configure(number_, queues_wanted_, transmitting, &wanted);
  if (status != 0) return refused("can't be configured", log.reason(in_words(status)));
  descriptors_ = static_cast<uint16_t>(options_.descriptors);
  uint16_t transmit_descriptors = kTransmitDescriptors;
  if (rte_eth_dev_adjust_nb_rx_tx_desc(number_, &descriptors_, &transmit_descriptors) != 0)
    return refused("can't be configured", "it has no use for " + std::to_string(options_.descriptors) + " descriptors",
                   "take fewer `descriptors`");
  const int socket = rte_eth_dev_socket_id(number_);
  for (uint16_t i = 0; i < transmitting; ++i) {
    status = rte_eth_tx_queue_setup(number_, i, transmit_descriptors, static_cast<unsigned>(socket), nullptr);
    if (status != 0) return refused("can't be configured", log.reason(in_words(status)));
  }
  interrupts_ = interrupts;
  return set_up_queues(log);
}

// A pool for each queue, so that a queue can't starve another. Last in, first out where the driver leaves the choice:
// then the mbufs in use are the few that were used last, and in a cache, instead of all there are in turn.
Expected<void> DpdkPort::set_up_queues(const DpdkLogWatch& log) {
  const int socket = rte_eth_dev_socket_id(number_);
  const char* const last_in_first_out = "stack";
  const bool may_choose = rte_eth_dev_pool_ops_supported(number_, last_in_first_out) >= 0;
  queues_.clear();
  for (uint16_t i = 0; i < queues_wanted_; ++i) {
    DpdkQueueOptions queue{.port = number_,
                           .number = i,
                           .burst = static_cast<uint16_t>(options_.burst),
                           .descriptors = descriptors_,
                           .ends = driver_.reads_file(),
                           .time = time()};
    queue.mbufs = std::max(static_cast<uint32_t>(options_.mbufs_of_queue()), queue.least_mbufs());
    if (pools_.size() <= i) {
      const std::string name = "trama_" + std::to_string(number_) + "_" + std::to_string(i);
      pools_.emplace_back(rte_pktmbuf_pool_create_by_ops(name.c_str(), queue.mbufs, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                                         socket, may_choose ? last_in_first_out : nullptr));
    }
    if (!pools_[i])
      return refused("has no memory for " + std::to_string(queue.mbufs) + " mbufs", log.reason(rte_strerror(rte_errno)),
                     "take fewer `mbufs`, or more `memory_mb` or huge pages");
    const int status =
        rte_eth_rx_queue_setup(number_, i, descriptors_, static_cast<unsigned>(socket), nullptr, pools_[i].get());
    if (status != 0) return refused("can't be configured", log.reason(in_words(status)));
    queues_.push_back(std::make_unique<DpdkQueue>(queue));
  }
  return {};
}

std::optional<MbufTime> DpdkPort::time() const {
  const bool reads_capture = driver_.name == "net_pcap";
  if (options_.times == DpdkOptions::Times::system) return std::nullopt;
  if (options_.times == DpdkOptions::Times::automatic && !reads_capture) return std::nullopt;
  MbufTime time;
  // Registered by drivers that have such a field; a second registration only says where it is.
  if (rte_mbuf_dyn_rx_timestamp_register(&time.offset, &time.flag) != 0) return std::nullopt;
  time.ns_per_unit = reads_capture ? 1000 : 1;
  return time;
}

Expected<void> DpdkPort::start(Diagnostics& remarks) {
  const DpdkLogWatch log;
  rte_eth_stats stats{};
  rte_eth_stats_get(number_, &stats);
  missed_ = GrowingCounter(stats.imissed);
  no_mbuf_ = GrowingCounter(stats.rx_nombuf);
  errors_ = GrowingCounter(stats.ierrors);
  if (const int status = rte_eth_dev_start(number_); status != 0)
    return refused("can't be started", log.reason(in_words(status)));
  started_ = true;
  const int promiscuous =
      options_.promiscuous ? rte_eth_promiscuous_enable(number_) : rte_eth_promiscuous_disable(number_);
  if (promiscuous != 0 && promiscuous != -ENOTSUP && options_.promiscuous)
    remarks.push_back({Severity::warning,
                       {},
                       "DPDK's " + name_ + " receives only what is sent to it: " + log.reason(in_words(promiscuous)),
                       ""});
  return {};
}

void DpdkPort::filter(Diagnostics& remarks) {
  if (!options_.only_ip) return;
  const DpdkLogWatch log;
  if (const auto set = keep_only_ip(number_, queues_wanted_); !set)
    remarks.push_back({Severity::note,
                       {},
                       "DPDK's " + name_ + " doesn't filter, and all frames are received: " + set.error().text,
                       ""});
}

void DpdkPort::choose_wait(Diagnostics& remarks) {
  const DpdkLogWatch log;
  bool possible = interrupts_ && !driver_.reads_file();
  for (const auto& queue : queues_) possible = possible && queue->watch_interrupts();
  if (!possible && options_.wait == DpdkOptions::Wait::interrupt)
    remarks.push_back(
        {Severity::warning, {}, "DPDK's " + name_ + " has no receive interrupts: it is asked again and again", ""});
  remarks.push_back({Severity::note,
                     {},
                     "listening on " + name_ + " through DPDK: " + driver_.name + ", " +
                         std::to_string(queues_.size()) + (queues_.size() == 1 ? " queue" : " queues") +
                         (possible ? ", receive interrupts" : ""),
                     ""});
}

DeviceLosses DpdkPort::take_losses() noexcept {
  rte_eth_stats stats{};
  if (rte_eth_stats_get(number_, &stats) != 0) return {};
  DeviceLosses losses;
  losses.nic = missed_.grown_to(stats.imissed) + no_mbuf_.grown_to(stats.rx_nombuf) + errors_.grown_to(stats.ierrors);
  return losses;
}

DpdkPort::~DpdkPort() {
  const DpdkLogWatch log;
  rte_eth_dev_info info{};
  const bool known = rte_eth_dev_info_get(number_, &info) == 0;
  for (const auto& queue : queues_) queue->clear();
  if (started_) rte_eth_dev_stop(number_);
  queues_.clear();
  if (temporary_ && known && info.device)
    rte_dev_remove(info.device);
  else
    rte_eth_dev_close(number_);
}

}  // namespace trama
