// af_xdp: captures from network interfaces before the kernel's network stack, through AF_XDP sockets.
//
//   [stages.capture]
//   kind = "af_xdp"
//   interfaces = ["eth1"]
//   role = "tap"         # necessary: what comes here, this host itself doesn't get
//   mode = "auto"        # where the XDP program runs: native (in the driver), generic (after it)
//   copy = "auto"        # zero_copy: the driver receives into the source's memory
//   frames = 16384       # packets of each receive queue that can wait or be under way
//   kernel_filters = ["filters/privacy_ranges.bpf.o"]   # modules that judge before that, with kernel_ranges and so on
//
// A source of PacketBatch. Each receive queue of an interface has a socket with memory of its own (UMEM), where packets
// lie until their batch has been let go; replicas share the queues. An XDP program redirects all that arrives, and that
// the modules in front of it let pass, to the sockets. It goes when the run ends, and when it is killed; another
// program that is there already is never replaced.
// Lost for want of frames counts as dropped by the ring, what the interface itself has lost as dropped by the NIC.
//
// What needs libxdp is in the plug-in trama-af_xdp.so (modules/support/device_plugin.hpp).
#include <net/if_arp.h>

#include "ebpf/kernel_privileges.hpp"
#include "engine/registry.hpp"
#include "engine/suggest.hpp"
#include "modules/messages.hpp"
#include "modules/support/device_plugin.hpp"
#include "modules/support/device_source.hpp"
#include "modules/support/kernel_filters.hpp"
#include "modules/support/network_interface.hpp"
#include "modules/support/xdp_socket_options.hpp"

namespace trama {
namespace {

constexpr PluginSource kXdpPlugin{
    .file = "trama-af_xdp.so", .library = "libxdp", .runtime_package = "libxdp1", .build_package = "libxdp-dev"};

Diagnostic as_diagnostic(const ebpf::Refusal& refusal) {
  ebpf::Refusal without_hint = refusal;
  without_hint.hint.clear();
  return {Severity::error, {}, ebpf::describe(without_hint), refusal.hint};
}

class AfXdp final {
 public:
  using Input = void;
  using OutputType = PacketBatch;
  struct Parameters {
    XdpSocketOptions socket;
    KernelFilterParameters kernel;
    uint64_t snap_bytes = 262144, packets = 0;
    Place place;

    void bind(ParameterBinder& binder) {
      using Copy = XdpSocketOptions::Copy;
      using Mode = KernelFilterParameters::Mode;
      using Role = KernelFilterParameters::Role;
      binder.texts("interfaces", socket.interfaces, "interfaces to capture from");
      binder.choice("role", kernel.role, {{"host", Role::host}, {"tap", Role::tap}},
                    "tap: this host has no use for what comes there; nothing else can be captured so");
      binder.choice("mode", kernel.mode,
                    {{"auto", Mode::automatic}, {"native", Mode::native}, {"generic", Mode::generic}},
                    "native: in the driver; generic: after it, with any driver; auto: native if the driver can");
      binder.choice("copy", socket.copy,
                    {{"auto", Copy::automatic}, {"copy", Copy::copy}, {"zero_copy", Copy::zero_copy}},
                    "whether the kernel copies packets; auto: only if the driver can't receive into our memory");
      binder.integer("frames", socket.frames, 512, 1 << 20, "of each receive queue; rounded up to a power of two");
      binder.flag("promiscuous", socket.promiscuous, "receive what is sent to others, too");
      binder.integer("snap_bytes", snap_bytes, 1, 262144, "bytes of a packet that filters see, at most");
      binder.integer("packets", packets, 0, UINT64_MAX >> 1, "stop after so many packets; 0: go on");
      kernel.bind_modules(binder);
      if (!binder.reading()) return;
      place = binder.place_of("interfaces");
      if (socket.interfaces.empty())
        binder.refuse("interfaces", "no interface to capture from", "give interfaces = [\"eth1\"], or -i xdp:IFACE");
      if (kernel.role != Role::tap)
        binder.refuse("role", "AF_XDP takes all that arrives at an interface away from this host",
                      "set role = \"tap\" if that is what the interface is (--set stages.af_xdp.role=tap); else "
                      "capture with af_packet (-i IFACE)");
    }
  };
  static constexpr StageInfo kInfo{.kind = "af_xdp",
                                   .summary = "captures from taps before the kernel's network stack",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves,
                                   .numbering = Numbering::opens};

  static tl::expected<StageFactory, Diagnostics> make(const Parameters& parameters, const SetupContext& context) {
    const auto at_place = [&](Diagnostic wrong) {
      wrong.place = parameters.place;
      return tl::unexpected(Diagnostics{std::move(wrong)});
    };
    for (const std::string& name : parameters.socket.interfaces)
      if (auto usable = check_interface(name); !usable) return at_place(std::move(usable.error()));
    if (auto allowed = ebpf::check_capabilities(); !allowed) return at_place(as_diagnostic(allowed.error()));
    auto opened = open_plugin_devices(kXdpPlugin, parameters.socket);
    if (!opened) return at_place(std::move(opened.error()));
    std::vector<int> sockets;
    for (const auto& device : opened->devices) sockets.push_back(static_cast<XdpDevice&>(*device).sockets());
    auto filters = KernelFilters::attach(parameters.socket.interfaces, parameters.kernel, context.services, sockets);
    if (!filters) return tl::unexpected(placed(std::move(filters.error()), parameters.place));
    for (size_t i = 0; i < opened->devices.size(); ++i) {
      auto remarked = remark_on(static_cast<XdpDevice&>(*opened->devices[i]), (*filters)->attached(i), opened->remarks);
      if (!remarked) return at_place(std::move(remarked.error()));
    }
    DeviceRunOptions run;
    run.packets = parameters.packets;
    run.snap_bytes = static_cast<uint32_t>(parameters.snap_bytes);
    run.replicas = context.replicas;
    run.filters = std::move(*filters);
    auto shared = std::make_shared<DeviceRun>(std::move(*opened), context.services.get<RunReport>(),
                                              context.services.get<RulesInForce>(), std::move(run));
    return StageFactory([shared](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<DeviceSource<PacketBatch>>(shared, replica);
    });
  }

 private:
  static Expected<void> check_interface(const std::string& name) {
    const auto found = find_interface(name);
    if (!found) return tl::unexpected(found.error());
    if (found->index == 0) return failure("AF_XDP can't capture from all interfaces at once", "name them");
    if (found->hardware_type == ARPHRD_ETHER || found->hardware_type == ARPHRD_LOOPBACK) return {};
    return failure(name + " carries no Ethernet frames, and AF_XDP gives nothing else", "capture with -i " + name);
  }

  static Diagnostics placed(Diagnostics wrong, const Place& place) {
    for (Diagnostic& one : wrong)
      if (one.place == Place{}) one.place = place;
    return wrong;
  }

  static Expected<void> remark_on(const XdpDevice& device, const KernelFilters::Attached& program,
                                  Diagnostics& remarks) {
    if (device.zero_copy() && program.generic)
      return failure("the driver of " + device.name() + " shares memory, but runs no program: " + program.why_generic,
                     "set copy = \"copy\"");
    remarks.push_back({Severity::note,
                       {},
                       "listening on " + device.name() +
                           " through AF_XDP: " + (program.generic ? "generic" : "native") + " mode, " +
                           (device.zero_copy() ? "zero-copy" : "copying") + ", " + std::to_string(device.queues()) +
                           (device.queues() == 1 ? " queue" : " queues"),
                       program.why_generic.empty() ? "" : "not native: " + program.why_generic});
    if (!program.generic) return {};
    // A generic program comes after the kernel has merged packets.
    if (const auto interface = find_interface(device.name()))
      if (const auto merging = merging_offloads(*interface); !merging.empty())
        remarks.push_back({Severity::warning,
                           {},
                           device.name() + " merges packets, so that fewer and larger ones are seen",
                           "sudo ethtool -K " + device.name() + " " + joined(merging, " off ") + " off"});
    return {};
  }
};

REGISTER_STAGE(AfXdp);

}  // namespace
}  // namespace trama
