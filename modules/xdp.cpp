// xdp: runs a filter module, an ordinary XDP program in an eBPF object, on each packet.
//
//   links = ["capture -> privacy -> parse"]
//   [stages.privacy]
//   kind = "xdp"
//   object = "filters/privacy_ranges.bpf.o"
//   ranges = ["10.0.0.0/8", "192.0.2.0/24:source"]   # of modules with the maps of privacy_ranges; as in `exclude`
//   files = ["privacy.txt"]                          # of such ranges, one a line; read again on SIGUSR2
//   [stages.web]
//   kind = "xdp"
//   object = "filters/ports.bpf.o"
//   maps = ["ports: tcp/443 = 1", "ports: udp/443 = 1"]   # "MAP: KEY = VALUE"; docs/filters.md has the syntax
//   map_files = ["ports.txt"]                             # of such entries, one a line; read again on SIGUSR2
//
// PacketBatch -> PacketBatch, verdicts written in place. XDP_PASS lets a packet go on; what XDP_DROP, XDP_TX and
// XDP_REDIRECT mean is what the module declares, or what is said here. Filters fail closed: XDP_ABORTED, faults, too
// many steps, and packets that can't be shown as Ethernet frames are excluded, and counted apart. A packet is never
// changed: a program that writes gets a copy.
//
// Each batch is judged by the lists that were in force when it entered. A module that gets others starts anew with
// them: what it has counted in its maps is forgotten.
//
// A module whose results depend on when and where a packet is judged (clock, random numbers, shared maps that it
// writes) needs replicas = 1.
#include <atomic>

#include "ebpf/filter_module.hpp"
#include "ebpf/unfilled_maps.hpp"
#include "engine/registry.hpp"
#include "modules/messages.hpp"
#include "modules/support/exclusion_input.hpp"
#include "modules/support/filter_inputs.hpp"
#include "modules/support/header_walk.hpp"
#include "modules/support/header_walk_frame.hpp"
#include "modules/support/module_lists.hpp"
#include "modules/support/module_remarks.hpp"
#include "modules/support/run_report.hpp"

namespace trama {
namespace {

// What a verdict means, or that the module says it.
enum class Said : uint8_t { module, excluded, filtered, passed };

std::optional<ebpf::Meaning> meaning_of(Said said) {
  switch (said) {
    case Said::module: return std::nullopt;
    case Said::excluded: return ebpf::Meaning::excluded;
    case Said::filtered: return ebpf::Meaning::filtered;
    case Said::passed: return ebpf::Meaning::passed;
  }
  return std::nullopt;
}

// The module with its lists; each replica of the stage has one of its own of what runs it.
struct LoadedModule final : ModuleRules {
  LoadedModule(std::shared_ptr<ebpf::FilterModule> made, const ebpf::ModuleOptions& options) : module(std::move(made)) {
    for (const auto* lines : {&options.ranges, &options.entries})
      for (const std::string& line : *lines) canonical += line + "\n";
    for (uint32_t replica = 0; replica < options.replicas; ++replica)
      replicas.push_back(std::make_unique<ebpf::FilterReplica>(*module, replica, EthernetFrames::kMostBytes));
  }
  std::shared_ptr<ebpf::FilterModule> module;
  std::vector<std::unique_ptr<ebpf::FilterReplica>> replicas;
};

// What all replicas share.
struct Shared {
  std::string object;  // as the graph file names it
  size_t module = 0;   // its place in Rules::modules
  std::shared_ptr<RunReport> report;
  std::atomic<bool> fault_met{false}, link_met{false};

  void warn(std::string text) { report->say({Severity::warning, {}, std::move(text), ""}); }
};

class Xdp final : public Stage<PacketBatch, PacketBatch> {
 public:
  struct Parameters {
    std::string object, program;
    ModuleLists lists;
    Said drop = Said::module, tx = Said::module, redirect = Said::module;
    Place object_place;

    void bind(ParameterBinder& binder) {
      binder.text("object", object, "the compiled module, NAME.bpf.o");
      binder.text("program", program, "which program of it, where it has several");
      binder.texts("ranges", lists.ranges, "privacy ranges for its maps, as CIDR[:either|both|source|destination]");
      binder.texts("files", lists.files, "files of such ranges, one a line; read again on SIGUSR2");
      binder.texts("maps", lists.maps, "contents of its maps, as \"MAP: KEY = VALUE\"");
      binder.texts("map_files", lists.map_files, "files of such contents, one a line; read again on SIGUSR2");
      const auto meanings = {std::pair("module", Said::module), std::pair("excluded", Said::excluded),
                             std::pair("filtered", Said::filtered), std::pair("passed", Said::passed)};
      binder.choice("drop", drop, meanings, "what XDP_DROP means; module: as it declares, or excluded");
      binder.choice("tx", tx, meanings, "what XDP_TX means; module: as it declares, or a fault");
      binder.choice("redirect", redirect, meanings, "what XDP_REDIRECT means; module: as it declares, or refused");
      if (!binder.reading()) return;
      object_place = binder.place_of("object");
      lists.ranges_place = binder.place_of("ranges");
      lists.maps_place = binder.place_of("maps");
      if (object.empty()) binder.refuse("object", "no module to run", "give object = \"NAME.bpf.o\"");
      for (const Diagnostic& wrong : check_ranges(lists.ranges, lists.ranges_place))
        binder.refuse("ranges", wrong.text, wrong.hint);
    }
  };
  static constexpr StageInfo kInfo{.kind = "xdp",
                                   .summary = "runs an XDP program (eBPF) on each packet",
                                   .parallelism = Parallelism::replicated,
                                   .ordering = Ordering::preserves,
                                   .changes_input = true};

  static tl::expected<StageFactory, Diagnostics> make(const Parameters& parameters, const SetupContext& context) {
    ebpf::ModuleOptions options;
    options.program = parameters.program;
    options.drop = meaning_of(parameters.drop);
    options.tx = meaning_of(parameters.tx);
    options.redirect = meaning_of(parameters.redirect);
    options.replicas = static_cast<uint32_t>(std::min<size_t>(context.replicas, UINT32_MAX));
    if (options.replicas > ebpf::kMaxReplicas)
      return refused(context.place, "a module runs in at most " + std::to_string(ebpf::kMaxReplicas) + " replicas", "");
    const auto contents = parameters.lists.read(Reading::first);
    if (!contents) return tl::unexpected(contents.error());
    options.ranges = contents->ranges;
    options.entries = contents->entries;
    auto module = ebpf::FilterModule::load(parameters.object, options);
    if (!module) return tl::unexpected(Diagnostics{diagnostic_of(module.error(), *contents, parameters.object_place)});
    const ebpf::Properties& properties = (*module)->properties();
    if (context.replicas > 1 && properties.serial())
      return refused(
          context.place,
          "this module can't be run by several replicas with the same results: it " + properties.why_serial(),
          "set replicas = 1");
    auto shared = std::make_shared<Shared>();
    shared->object = parameters.object;
    shared->report = context.services.get<RunReport>();
    for (Diagnostic& remark : remarks_on({.object = parameters.object,
                              .meanings_said = (*module)->meanings().declared || options.drop.has_value(),
                              .unfilled = ebpf::unfilled_maps(**module),
                              .place = parameters.object_place}))
      shared->report->say(std::move(remark));
    shared->module = context.services.get<RulesInForce>()->add_module(std::make_shared<LoadedModule>(*module, options));
    if (parameters.lists.has_files())
      context.services.get<FilterInputs>()->add(shared->module,
                                                [parameters, options, object = (*module)->object()](Reading reading) {
                                                  return made_anew(parameters, options, object, reading);
                                                });
    return StageFactory([shared](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
      return std::make_unique<Xdp>(shared, replica.replica);
    });
  }
  Xdp(std::shared_ptr<Shared> shared, size_t replica) : shared_(std::move(shared)), replica_(replica) {}

  Step process(PacketBatch& in, Output<PacketBatch>& out) override {
    const auto& loaded = static_cast<const LoadedModule&>(*in.rules->modules[shared_->module]);
    ebpf::FilterReplica& filter = *loaded.replicas[replica_];
    filter.begin_batch();
    for (size_t i = 0; i < in.count; ++i) {
      if (i + kAhead < in.count) __builtin_prefetch(in.packets[i + kAhead].data);
      Packet& packet = in.packets[i];
      if (packet.verdict == Verdict::counted) packet.verdict = judge(packet, filter);
    }
    filter.end_batch();
    ++in.judges;
    in.items = static_cast<uint32_t>(in.count);
    out.push(&in);
    return Step::done;
  }

 private:
  static constexpr size_t kAhead = 8;  // packets; their bytes may be the first touched since the source read them

  static tl::unexpected<Diagnostics> refused(const Place& place, std::string text, std::string hint) {
    return tl::unexpected(Diagnostics{{Severity::error, place, std::move(text), std::move(hint)}});
  }

  // The same module with its files as they are now.
  static FilterInputs::Read made_anew(const Parameters& parameters, ebpf::ModuleOptions options,
                                      const ebpf::Object& object, Reading reading) {
    const auto contents = parameters.lists.read(reading);
    if (!contents) return tl::unexpected(contents.error());
    options.ranges = contents->ranges;
    options.entries = contents->entries;
    auto module = ebpf::FilterModule::make(object, options);
    if (!module) return tl::unexpected(Diagnostics{diagnostic_of(module.error(), *contents, parameters.object_place)});
    return std::make_shared<const LoadedModule>(std::move(*module), options);
  }

  Verdict judge(const Packet& packet, ebpf::FilterReplica& filter) {
    const auto frame = frames_.show(packet);
    if (!frame) {
      if (!shared_->link_met.exchange(true, std::memory_order_relaxed)) warn_of_link(packet.link_type);
      return Verdict::excluded_fault;
    }
    switch (filter.judge(*frame, packet.time_ns)) {
      case ebpf::Decision::pass: return Verdict::counted;
      case ebpf::Decision::excluded: return Verdict::excluded_module;
      case ebpf::Decision::filtered: return Verdict::filtered;
      case ebpf::Decision::fault: break;
    }
    if (!shared_->fault_met.exchange(true, std::memory_order_relaxed))
      shared_->warn(shared_->object +
                    " can't judge every packet; those it can't are excluded. The first: " + filter.describe_fault());
    return Verdict::excluded_fault;
  }

  void warn_of_link(uint16_t link_type) {
    shared_->warn(shared_->object + " sees Ethernet frames, and some packets of " + link_type_name(link_type) +
                  " can't be shown as such: they are excluded");
  }

  std::shared_ptr<Shared> shared_;
  const size_t replica_;
  EthernetFrames frames_;
};

REGISTER_STAGE(Xdp);

}  // namespace
}  // namespace trama
