#include "ebpf/kernel_filter.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "ebpf/kernel_privileges.hpp"

namespace trama::ebpf {
namespace {

uint32_t flags_of(KernelMode mode) { return mode == KernelMode::generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE; }

std::string program_name(uint32_t id) {
  const Descriptor program(bpf_prog_get_fd_by_id(id));
  bpf_prog_info info{};
  uint32_t size = sizeof info;
  if (!program || bpf_obj_get_info_by_fd(program.number(), &info, &size) != 0) return "number " + std::to_string(id);
  return std::string(info.name) + " (number " + std::to_string(id) + ")";
}

tl::unexpected<Refusal> refuse_taken(const std::string& interface, const std::string& which) {
  return refuse("interface " + interface + " has an XDP program already" + which,
                "`ip link set dev " + interface +
                    " xdp off` takes it off; if a process holds it, that one must end: `bpftool link show` names it");
}

Expected<void> check_free(const std::string& interface, uint32_t index) {
  LIBBPF_OPTS(bpf_xdp_query_opts, found);
  if (bpf_xdp_query(static_cast<int>(index), 0, &found) != 0) return {};  // the kernel will say it when linking
  const uint32_t id = found.prog_id       ? found.prog_id
                      : found.drv_prog_id ? found.drv_prog_id
                      : found.hw_prog_id  ? found.hw_prog_id
                                          : found.skb_prog_id;
  if (id == 0 && found.attach_mode == XDP_ATTACHED_NONE) return {};
  return refuse_taken(interface, id == 0 ? "" : ": " + program_name(id));
}

// What may be the reason why a driver refuses.
std::string with_mtu(const std::string& interface, std::string text) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket && ::ioctl(socket.number(), SIOCGIFMTU, &request) == 0)
    text += " (MTU " + std::to_string(request.ifr_mtu) + ")";
  return text;
}

// Those after which another mode can't help.
bool is_final(int error) { return error == EPERM || error == EACCES || error == EBUSY || error == ENODEV; }

Expected<void> check_chain(ModuleChain modules) {
  if (modules.size() > kMaxKernelModules)
    return refuse("more than " + std::to_string(kMaxKernelModules) + " modules for one interface");
  for (const auto& module : modules)
    if (auto fits = check_fit_for_kernel(*module); !fits) return fits;
  return {};
}

std::array<Decision, kCountedVerdicts> decisions_of(const FilterModule& module) {
  std::array<Decision, kCountedVerdicts> decisions;
  for (size_t verdict = 0; verdict < decisions.size(); ++verdict) decisions[verdict] = module.decide(verdict);
  return decisions;
}

bool same_maps(const FilterModule& one, const FilterModule& other) {
  const auto same = [](const MapSpec& left, const MapSpec& right) {
    return left.name == right.name && left.type == right.type && left.key_size == right.key_size &&
           left.value_size == right.value_size && left.max_entries == right.max_entries && left.flags == right.flags;
  };
  const std::vector<MapSpec>&left = one.object().maps, &right = other.object().maps;
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), same);
}

}  // namespace

const char* name_of(KernelMode mode) noexcept {
  switch (mode) {
    case KernelMode::automatic: return "automatic";
    case KernelMode::native: return "native";
    case KernelMode::generic: return "generic";
  }
  return "unknown";
}

KernelFilter::KernelFilter(uint32_t index, ModuleChain modules, const KernelFilterOptions& options)
    : index_(index), options_(options), modules_(modules.begin(), modules.end()) {
  for (const auto& module : modules) decisions_.push_back(decisions_of(*module));
}

KernelFilter::~KernelFilter() { detach(); }

void KernelFilter::detach() noexcept {
  // A process forked from this one may hold the descriptor, too.
  if (link_) bpf_link_detach(link_.number());
}

Expected<std::unique_ptr<KernelFilter>> KernelFilter::attach(const std::string& interface, ModuleChain modules,
                                                             const KernelFilterOptions& options) {
  const uint32_t index = ::if_nametoindex(interface.c_str());
  if (index == 0) return refuse("there is no interface " + interface, "`ip link` lists them");
  if (auto good = check_chain(modules); !good) return tl::unexpected(good.error());
  if (auto may = check_capabilities(); !may) return tl::unexpected(may.error());
  if (auto free = check_free(interface, index); !free) return tl::unexpected(free.error());
  std::unique_ptr<KernelFilter> filter(new KernelFilter(index, modules, options));
  auto counters = KernelCounters::make(modules.size());
  if (!counters) return tl::unexpected(counters.error());
  filter->counters_ = std::move(*counters);
  if (auto attached = filter->attach_in_some_mode(interface); !attached) return tl::unexpected(attached.error());
  return filter;
}

// In pieces only where the driver wants it so: without, generic mode shows modules the whole packet.
Expected<void> KernelFilter::attach_in_some_mode(const std::string& interface) {
  struct Attempt {
    KernelMode mode;
    bool frames_in_pieces;
  };
  constexpr Attempt kAttempts[] = {
      {KernelMode::native, false}, {KernelMode::native, true}, {KernelMode::generic, false}};
  int error = 0;
  for (const Attempt& attempt : kAttempts) {
    if (options_.mode != KernelMode::automatic && options_.mode != attempt.mode) continue;
    if (auto loaded = load(attempt.frames_in_pieces); !loaded) {
      // A kernel that doesn't know packets in pieces refuses to load, too; what it refused before was the reason.
      if (!attempt.frames_in_pieces) return loaded;
      continue;
    }
    error = link(attempt.mode);
    if (error == 0) {
      mode_ = attempt.mode;
      frames_in_pieces_ = attempt.frames_in_pieces;
      if (mode_ == KernelMode::native) why_generic_.clear();
      return {};
    }
    if (is_final(error)) break;
    if (attempt.mode == KernelMode::native && why_generic_.empty())
      why_generic_ = with_mtu(interface, std::string("the driver refuses native mode: ") + std::strerror(error));
  }
  if (error == EBUSY || error == EEXIST) return refuse_taken(interface, "");
  return refuse(
      "interface " + interface + " takes no XDP program" +
          (options_.mode == KernelMode::automatic ? "" : std::string(" in ") + name_of(options_.mode) + " mode") +
          ": " + with_mtu(interface, std::strerror(error)),
      options_.mode == KernelMode::native ? "generic mode works with any driver" : "");
}

Expected<void> KernelFilter::load(bool frames_in_pieces) {
  const KernelProgramOptions options{counters_->descriptor(), options_.sockets, frames_in_pieces};
  auto program = KernelProgram::load(modules_, options, nullptr);
  if (!program) return tl::unexpected(program.error());
  program_ = std::move(*program);
  return {};
}

int KernelFilter::link(KernelMode mode) {
  LIBBPF_OPTS(bpf_link_create_opts, options, .flags = flags_of(mode));
  link_ = Descriptor(bpf_link_create(program_->descriptor(), static_cast<int>(index_), BPF_XDP, &options));
  return link_ ? 0 : errno;
}

std::optional<KernelCounts> KernelFilter::counts() noexcept {
  const std::span<VerdictCounts> sums(sums_.data(), decisions_.size());
  if (!counters_->read(sums)) return std::nullopt;
  KernelCounts counts;
  for (size_t module = 0; module < sums.size(); ++module) {
    uint64_t went_on = 0;
    for (size_t verdict = 0; verdict < kCountedVerdicts; ++verdict) {
      const uint64_t packets = sums[module][verdict];
      switch (decisions_[module][verdict]) {
        case Decision::pass: went_on += packets; break;
        case Decision::excluded: counts.excluded += packets; break;
        case Decision::filtered: counts.filtered += packets; break;
        case Decision::fault: counts.fault += packets; break;
      }
    }
    counts.passed = went_on;  // of the last module, in the end
  }
  return counts;
}

std::optional<VerdictCounts> KernelFilter::verdicts(size_t module) noexcept {
  const std::span<VerdictCounts> sums(sums_.data(), decisions_.size());
  if (module >= sums.size() || !counters_->read(sums)) return std::nullopt;
  return sums[module];
}

KernelFilterState KernelFilter::state() const noexcept {
  bpf_link_info info{};
  uint32_t size = sizeof info;
  if (bpf_obj_get_info_by_fd(link_.number(), &info, &size) == 0 && info.xdp.ifindex != 0) return KernelFilterState::on;
  char name[IF_NAMESIZE];
  return ::if_indextoname(index_, name) ? KernelFilterState::off : KernelFilterState::gone;
}

Expected<void> KernelFilter::update(ModuleChain modules) {
  const std::lock_guard lock(updating_);
  bool same = modules.size() == modules_.size();
  for (size_t module = 0; same && module < modules.size(); ++module)
    same = same_maps(*modules[module], *modules_[module]) && decisions_of(*modules[module]) == decisions_[module];
  if (!same) return refuse("a filter on an interface can't be changed to other modules", "start anew with them");
  if (auto good = check_chain(modules); !good) return good;
  if (auto may = check_capabilities(); !may) return may;
  const KernelProgramOptions options{counters_->descriptor(), options_.sockets, frames_in_pieces_};
  auto program = KernelProgram::load(modules, options, &*program_);
  if (!program) return tl::unexpected(program.error());
  if (bpf_link_update(link_.number(), program->descriptor(), nullptr) != 0)
    return refuse(std::string("the filter on the interface can't be changed: ") + std::strerror(errno),
                  state() == KernelFilterState::on
                      ? ""
                      : "it isn't there any more: somebody took it off, or the interface is gone");
  program_ = std::move(*program);
  modules_.assign(modules.begin(), modules.end());
  return {};
}

}  // namespace trama::ebpf
