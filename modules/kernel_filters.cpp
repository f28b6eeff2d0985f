// Filter modules in front of a live source. No stage: it stands here, since modules/support knows no eBPF.
#include "modules/support/kernel_filters.hpp"

#include <linux/capability.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "ebpf/kernel_filter_group.hpp"
#include "ebpf/unfilled_maps.hpp"
#include "modules/support/exclusion_input.hpp"
#include "modules/support/filter_inputs.hpp"
#include "modules/support/kept_capabilities.hpp"
#include "modules/support/module_remarks.hpp"
#include "modules/support/rules.hpp"
#include "modules/support/run_report.hpp"

namespace trama {
namespace {

ebpf::KernelMode mode_of(KernelFilterParameters::Mode mode) {
  switch (mode) {
    case KernelFilterParameters::Mode::automatic: return ebpf::KernelMode::automatic;
    case KernelFilterParameters::Mode::native: return ebpf::KernelMode::native;
    case KernelFilterParameters::Mode::generic: return ebpf::KernelMode::generic;
  }
  return ebpf::KernelMode::automatic;
}

// What the filters judge by.
struct KernelRules final : ModuleRules {
  KernelRules(std::shared_ptr<ebpf::KernelFilterGroup> filters, ModuleLists::Contents lists, Place objects)
      : group(std::move(filters)), contents(std::move(lists)), place(std::move(objects)) {
    for (const auto* lines : {&contents.ranges, &contents.entries})
      for (const std::string& line : *lines) canonical += line + "\n";
  }
  Diagnostics tell_others() const override {
    const auto replaced = group->replace({contents.ranges, contents.entries});
    if (replaced) return {};
    return {diagnostic_of(replaced.error(), contents, place)};
  }
  const std::shared_ptr<ebpf::KernelFilterGroup> group;
  const ModuleLists::Contents contents;
  const Place place;
};

void follow_files(std::shared_ptr<ebpf::KernelFilterGroup> group, const ModuleLists::Contents& contents,
                  const KernelFilterParameters& parameters, Services& services) {
  const size_t module = services.get<RulesInForce>()->add_module(
      std::make_shared<KernelRules>(group, contents, parameters.objects_place));
  if (!parameters.lists.has_files()) return;
  for (const int capability : {CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON})  // new lists are a new program
    services.get<KeptCapabilities>()->keep(capability);
  services.get<FilterInputs>()->add(module, [group, parameters](Reading reading) -> FilterInputs::Read {
    auto read = parameters.lists.read(reading);
    if (!read) return tl::unexpected(std::move(read.error()));
    return std::make_shared<const KernelRules>(group, std::move(*read), parameters.objects_place);
  });
}

class AttachedFilters final : public KernelFilters {
 public:
  AttachedFilters(std::shared_ptr<ebpf::KernelFilterGroup> group, std::shared_ptr<RunReport> report, bool judging)
      : group_(std::move(group)), report_(std::move(report)), judges_(judging ? kJudges : 0) {}

  uint32_t judges() const noexcept override { return judges_; }
  Attached attached(size_t interface) const override {
    const ebpf::KernelFilter& filter = group_->filter(interface);
    return {filter.mode() == ebpf::KernelMode::generic, filter.why_generic()};
  }

  uint64_t take_removed() noexcept override { return group_->take_removed(); }

  void look() override {
    if (lost()) return;
    const std::string* const interface = group_->unfiltered();
    if (!interface) return;
    lost_.store(true, std::memory_order_relaxed);
    report_->say({Severity::error,
                  {},
                  *interface + " has lost its filters: the capture ends, so that nothing comes past them",
                  "somebody took them off by force"});
  }

  bool lost() const noexcept override { return lost_.load(std::memory_order_relaxed); }
  bool is_on(size_t interface) const noexcept override {
    return group_->filter(interface).state() == ebpf::KernelFilterState::on;
  }
  void detach() override { group_->detach(); }

 private:
  static constexpr uint32_t kJudges = 1;

  std::shared_ptr<ebpf::KernelFilterGroup> group_;
  std::shared_ptr<RunReport> report_;
  const uint32_t judges_;
  std::atomic<bool> lost_{false};
};

void refuse_without_modules(ParameterBinder& binder, const char* name) {
  if (binder.given(name))
    binder.refuse(name, std::string(name) + " is for filters in the kernel, and there are none",
                  "give kernel_filters = [\"NAME.bpf.o\"]");
}

}  // namespace

void KernelFilterParameters::bind(ParameterBinder& binder) {
  binder.choice("role", role, {{"host", Role::host}, {"tap", Role::tap}},
                "tap: nothing comes there but what is to be captured; host: this machine's own traffic, too");
  bind_modules(binder);
  binder.choice("kernel_mode", mode,
                {{"automatic", Mode::automatic}, {"native", Mode::native}, {"generic", Mode::generic}},
                "native: in the driver; generic: after it, with any driver; automatic: native if the driver can");
  if (!binder.reading()) return;
  if (!objects.empty() && role != Role::tap)
    binder.refuse("kernel_filters", "what a filter removes in the kernel, this machine doesn't get either",
                  "set role = \"tap\" if that is what the interface is; else use the stage xdp");
  if (objects.empty()) refuse_without_modules(binder, "kernel_mode");
}

void KernelFilterParameters::bind_modules(ParameterBinder& binder) {
  binder.texts("kernel_filters", objects, "modules that judge in the kernel, in this order; where role = \"tap\"");
  binder.texts("kernel_ranges", lists.ranges,
               "privacy ranges for their maps, as CIDR[:either|both|source|destination]");
  binder.texts("kernel_files", lists.files, "files of such ranges, one a line");
  binder.texts("kernel_maps", lists.maps, "contents of their maps, as \"MAP: KEY = VALUE\"");
  binder.texts("kernel_map_files", lists.map_files, "files of such contents, one a line");
  if (!binder.reading()) return;
  objects_place = binder.place_of("kernel_filters");
  lists.ranges_place = binder.place_of("kernel_ranges");
  lists.maps_place = binder.place_of("kernel_maps");
  for (const char* name : {"kernel_ranges", "kernel_files", "kernel_maps", "kernel_map_files"})
    if (objects.empty()) refuse_without_modules(binder, name);
  for (const Diagnostic& wrong : check_ranges(lists.ranges, lists.ranges_place))
    binder.refuse("kernel_ranges", wrong.text, wrong.hint);
}

tl::expected<std::shared_ptr<KernelFilters>, Diagnostics> KernelFilters::attach(
    const std::vector<std::string>& interfaces, const KernelFilterParameters& parameters, Services& services,
    const std::vector<int>& sockets) {
  const bool judging = !parameters.objects.empty();
  if (!judging && sockets.empty()) return nullptr;
  if (std::find(interfaces.begin(), interfaces.end(), "any") != interfaces.end())
    return tl::unexpected(Diagnostics{{Severity::error, parameters.objects_place,
                                       "filters in the kernel are attached to interfaces by name, and `any` is none",
                                       "name the interfaces"}});
  const auto contents = parameters.lists.read(Reading::first);
  if (!contents) return tl::unexpected(contents.error());
  auto attached = ebpf::KernelFilterGroup::attach(interfaces, {.objects = parameters.objects,
                                                               .contents = {contents->ranges, contents->entries},
                                                               .mode = mode_of(parameters.mode),
                                                               .sockets = sockets});
  if (!attached)
    return tl::unexpected(Diagnostics{diagnostic_of(attached.error(), *contents, parameters.objects_place)});
  const std::shared_ptr<ebpf::KernelFilterGroup> group = std::move(*attached);
  const auto report = services.get<RunReport>();
  if (judging) {
    for (std::string& line : group->describe()) report->say({Severity::note, {}, std::move(line), ""});
    for (const auto& module : group->modules())
      for (Diagnostic& remark : remarks_on({.object = module->object().name,
                                .in_kernel = true,
                                .meanings_said = module->meanings().declared,
                                .unfilled = ebpf::unfilled_maps(*module),
                                .place = parameters.objects_place}))
        report->say(std::move(remark));
    follow_files(group, *contents, parameters, services);
  }
  return std::make_shared<AttachedFilters>(group, report, judging);
}

}  // namespace trama
