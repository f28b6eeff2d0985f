#include "ebpf/kernel_filter_group.hpp"

#include <string_view>
#include <utility>

#include "ebpf/loader.hpp"
#include "ebpf/map_entries.hpp"

namespace trama::ebpf {
namespace {

using Made = std::vector<std::shared_ptr<FilterModule>>;

Expected<void> set_ranges_of(const Made& modules, const std::vector<std::string>& ranges) {
  bool any = false;
  for (const auto& module : modules) {
    if (!module->maps().find("ranges_v4")) continue;
    any = true;
    if (auto set = set_ranges(module->maps(), ranges); !set) return set;
  }
  if (any || ranges.empty()) return {};
  return refuse("there are ranges, and no module has the maps that they are written to",
                "ranges are for modules with the maps of privacy_ranges.bpf.c");
}

std::string_view map_named(std::string_view entry) {
  const size_t first = entry.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  entry.remove_prefix(first);
  return entry.substr(0, entry.find_first_of(" :"));
}

// Those of a module, and where each stands among all of them.
struct OwnEntries {
  std::vector<std::string> texts;
  std::vector<int64_t> places;
};

// No message repeats an entry: it may hold an address.
Expected<std::vector<OwnEntries>> by_module(const Made& modules, const std::vector<std::string>& entries) {
  std::vector<OwnEntries> all(modules.size());
  for (size_t entry = 0; entry < entries.size(); ++entry) {
    bool any = false;
    for (size_t module = 0; module < modules.size(); ++module) {
      if (!modules[module]->maps().find(map_named(entries[entry]))) continue;
      any = true;
      all[module].texts.push_back(entries[entry]);
      all[module].places.push_back(static_cast<int64_t>(entry));
    }
    if (any) continue;
    Refusal refusal{"it names no map of the modules",
                    "write \"MAP: KEY = VALUE\"; `trama filter check` lists the maps of a module"};
    refusal.entry = static_cast<int64_t>(entry);
    return tl::unexpected(std::move(refusal));
  }
  return all;
}

Expected<void> set_entries_of(const Made& modules, const std::vector<std::string>& entries) {
  const auto all = by_module(modules, entries);
  if (!all) return tl::unexpected(all.error());
  for (size_t module = 0; module < modules.size(); ++module) {
    const OwnEntries& own = (*all)[module];
    auto set = set_entries(modules[module]->object(), modules[module]->maps(), own.texts);
    if (set) continue;
    set.error().text = modules[module]->object().name + ": " + set.error().text;
    if (set.error().entry >= 0) set.error().entry = own.places[static_cast<size_t>(set.error().entry)];
    return set;
  }
  return {};
}

}  // namespace

Expected<KernelFilterGroup::Modules> KernelFilterGroup::make_modules(const std::vector<Object>& objects,
                                                                     const KernelFilterContents& contents) {
  Made made;
  for (const Object& object : objects) {
    auto module = FilterModule::make(object, {.engine = Engine::interpreter});
    if (!module) return tl::unexpected(module.error());
    made.push_back(std::move(*module));
  }
  if (auto set = set_ranges_of(made, contents.ranges); !set) return tl::unexpected(set.error());
  if (auto set = set_entries_of(made, contents.entries); !set) return tl::unexpected(set.error());
  return Modules(made.begin(), made.end());
}

Expected<std::unique_ptr<KernelFilterGroup>> KernelFilterGroup::attach(const std::vector<std::string>& interfaces,
                                                                       const KernelFilterGroupOptions& options) {
  std::unique_ptr<KernelFilterGroup> group(new KernelFilterGroup);
  for (const std::string& path : options.objects) {
    auto object = load_object(path);
    if (!object) return tl::unexpected(object.error());
    group->objects_.push_back(std::move(*object));
  }
  auto modules = make_modules(group->objects_, options.contents);
  if (!modules) return tl::unexpected(modules.error());
  group->modules_ = std::move(*modules);
  for (size_t one = 0; one < interfaces.size(); ++one) {
    const int sockets = one < options.sockets.size() ? options.sockets[one] : -1;
    auto filter = KernelFilter::attach(interfaces[one], group->modules_, {.mode = options.mode, .sockets = sockets});
    if (!filter) return tl::unexpected(filter.error());
    group->attached_.push_back({interfaces[one], std::move(*filter)});
  }
  return group;
}

std::vector<std::string> KernelFilterGroup::describe() const {
  std::vector<std::string> lines;
  for (const Attached& one : attached_) {
    std::string line = one.interface + ": filters in " + name_of(one.filter->mode()) + " mode";
    if (!one.filter->why_generic().empty()) line += ": " + one.filter->why_generic();
    lines.push_back(std::move(line));
  }
  return lines;
}

uint64_t KernelFilterGroup::take_removed() noexcept {
  uint64_t grown = 0;
  for (Attached& one : attached_) {
    const auto counts = one.filter->counts();
    if (!counts) continue;
    grown += counts->removed() - one.removed;
    one.removed = counts->removed();
  }
  return grown;
}

const std::string* KernelFilterGroup::unfiltered() const noexcept {
  for (const Attached& one : attached_)
    if (one.filter->state() == KernelFilterState::off) return &one.interface;
  return nullptr;
}

Expected<void> KernelFilterGroup::replace(const KernelFilterContents& contents) {
  const std::lock_guard lock(changing_);
  auto modules = make_modules(objects_, contents);
  if (!modules) return tl::unexpected(modules.error());
  if (detached_) return {};  // they judge nothing any more
  for (size_t one = 0; one < attached_.size(); ++one) {
    KernelFilter& filter = *attached_[one].filter;
    if (filter.state() == KernelFilterState::gone) continue;  // nothing comes from there
    const auto updated = filter.update(*modules);
    if (updated) continue;
    while (one-- > 0) (void)attached_[one].filter->update(modules_);
    return updated;
  }
  modules_ = std::move(*modules);
  return {};
}

void KernelFilterGroup::detach() {
  const std::lock_guard lock(changing_);
  detached_ = true;
  for (const Attached& one : attached_) one.filter->detach();
}

}  // namespace trama::ebpf
