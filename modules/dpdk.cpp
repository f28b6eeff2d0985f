// dpdk: receives from network cards through DPDK, and from anything that DPDK has a driver for.
//
//   [stages.capture]
//   kind = "dpdk"
//   devices = ["0000:03:00.0", "net_af_packet0,iface=eth1"]   # or "all": every port that DPDK finds
//   role = "tap"        # for cards: DPDK takes their traffic away from this host, which is right for a tap only
//   queues = 2          # receive queues of each device; the card spreads packets over them by their addresses
//   eal = ["--iova-mode=va"]                                  # further options of DPDK's environment
//
// A source of PacketBatch. Packets lie in the card's buffers (mbufs) until their batch has been let go; nothing is
// copied but headers that lie in two buffers. Card drops count as dropped by the NIC. A device without receive
// interrupts is asked again and again, more rarely the longer little comes, `sleep_us` apart at most, and so often that
// its queues have room for 800,000 packets a second; 0 keeps one core busy. A net_pcap device ends with its file; all
// others when the run is told to stop.
//
// What needs DPDK's libraries is in the plug-in trama-dpdk.so (modules/support/device_plugin.hpp). docs/dpdk.md tells
// how machines are set up.
#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/device_plugin.hpp"
#include "modules/support/device_source.hpp"
#include "modules/support/dpdk_options.hpp"

namespace trama {
namespace {

constexpr PluginSource kDpdkPlugin{
    .file = "trama-dpdk.so", .library = "DPDK", .runtime_package = "librte-meta-net", .build_package = "libdpdk-dev"};

enum class Role : uint8_t { host, tap };
enum class Keep : uint8_t { all, ip };

class Dpdk final {
 public:
  using Input = void;
  using OutputType = PacketBatch;
  struct Parameters {
    DpdkOptions device;
    Role role = Role::host;
    Keep keep = Keep::all;
    uint64_t snap_bytes = 262144, sleep_us = 5000, packets = 0;
    Place devices_place;

    void bind(ParameterBinder& binder) {
      bind_devices(binder);
      bind_memory(binder);
      bind_waiting(binder);
      if (!binder.reading()) return;
      devices_place = binder.place_of("devices");
      if (device.devices.empty())
        binder.refuse("devices", "no device to receive from",
                      "give devices = [\"0000:03:00.0\"], or \"all\"; `dpdk-devbind.py --status` lists them");
      split_words(binder);
    }

   private:
    void bind_devices(ParameterBinder& binder) {
      using Times = DpdkOptions::Times;
      binder.texts("devices", device.devices, "PCI addresses, virtual devices with their arguments, or \"all\"");
      binder.choice("role", role, {{"host", Role::host}, {"tap", Role::tap}},
                    "tap: DPDK may take traffic away from this host, which has no use for it");
      binder.integer("queues", device.queues, 0, 1024, "receive queues of each device; 0: one for each replica");
      binder.choice("keep", keep, {{"all", Keep::all}, {"ip", Keep::ip}},
                    "ip: the card is asked to drop, unseen, what isn't IPv4 or IPv6");
      binder.flag("promiscuous", device.promiscuous, "receive what is sent to others, too");
      binder.integer("mtu", device.mtu, 0, 65535, "longest frame, without its Ethernet header; 0: the driver's");
      binder.integer("snap_bytes", snap_bytes, 1, 262144, "bytes of a packet that filters see, at most");
      binder.choice("times", device.times,
                    {{"auto", Times::automatic}, {"system", Times::system}, {"device", Times::device}},
                    "device: the card's, where it writes nanoseconds since 1970; auto: net_pcap's, else the system's");
      binder.integer("packets", packets, 0, UINT64_MAX >> 1, "stop after so many packets; 0: go on");
    }
    void bind_memory(ParameterBinder& binder) {
      using HugePages = DpdkOptions::HugePages;
      binder.texts("eal", device.eal, "further options of EAL, DPDK's environment");
      binder.choice("huge_pages", device.huge_pages,
                    {{"auto", HugePages::automatic}, {"yes", HugePages::on}, {"no", HugePages::off}},
                    "auto: when there are enough free ones, and we are root");
      binder.integer("memory_mb", device.memory_mb, 0, 1 << 20, "of DPDK without huge pages; 0: what the queues need");
      binder.integer("descriptors", device.descriptors, 64, 32768, "packets that can wait in a queue");
      binder.integer("mbufs", device.mbufs, 0, 1 << 24, "packet buffers of a queue; 0: enough for 32 batches");
      binder.integer("burst", device.burst, 4, 1024, "packets received at once");
    }
    void bind_waiting(ParameterBinder& binder) {
      using Wait = DpdkOptions::Wait;
      binder.choice("wait", device.wait,
                    {{"auto", Wait::automatic}, {"interrupt", Wait::interrupt}, {"poll", Wait::poll}},
                    "auto: by receive interrupts where the driver has them");
      binder.integer("sleep_us", sleep_us, 0, 100'000, "longest sleep between two looks at a quiet device; 0: none");
    }
    // One text may hold several options, as on a command line.
    void split_words(ParameterBinder& binder) {
      std::vector<std::string> words;
      for (const std::string& text : device.eal) {
        for (size_t begin = 0; (begin = text.find_first_not_of(' ', begin)) != std::string::npos;) {
          const size_t end = std::min(text.find(' ', begin), text.size());
          words.push_back(text.substr(begin, end - begin));
          begin = end;
        }
      }
      device.eal = std::move(words);
      for (const std::string& word : device.eal)
        if (word == "-h" || word == "--help")
          binder.refuse("eal", "`" + word + "` would print EAL's options and end the program",
                        "they are in DPDK's guide: EAL parameters");
    }
  };
  static constexpr StageInfo kInfo{.kind = "dpdk",
                                   .summary = "receives from network cards through DPDK",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves,
                                   .numbering = Numbering::opens};

  static Expected<StageFactory> make(const Parameters& parameters, const SetupContext& context) {
    DpdkOptions options = parameters.device;
    options.replicas = context.replicas;
    options.batch_items = context.sizes.batch_items;
    options.tap = parameters.role == Role::tap;
    options.only_ip = parameters.keep == Keep::ip;
    auto opened = open_plugin_devices(kDpdkPlugin, options);
    if (!opened) {
      Diagnostic wrong = std::move(opened.error());
      wrong.place = parameters.devices_place;
      return tl::unexpected(std::move(wrong));
    }
    DeviceRunOptions run;
    run.packets = parameters.packets;
    run.snap_bytes = static_cast<uint32_t>(parameters.snap_bytes);
    run.longest_sleep_ns = static_cast<int64_t>(parameters.sleep_us) * 1000;
    run.replicas = context.replicas;
    auto shared = std::make_shared<DeviceRun>(std::move(*opened), context.services.get<RunReport>(),
                                              context.services.get<RulesInForce>(), std::move(run));
    return StageFactory([shared](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<DeviceSource<PacketBatch>>(shared, replica);
    });
  }
};

REGISTER_STAGE(Dpdk);

}  // namespace
}  // namespace trama
