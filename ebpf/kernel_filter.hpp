// Filter modules on an interface: what they reject never leaves the kernel.
//
//   auto filter = KernelFilter::attach("tap0", {{module}}, {});
//   ... (*filter)->counts()->removed() ...
//   (*filter)->update({{module_with_other_ranges}});
//
// XDP judges what arrives at the interface, before the host's network stack: what is removed there, the host doesn't
// get either. So only for interfaces that are taps. What leaves by the interface isn't judged.
//
// The modules form one program (kernel_dispatcher.hpp), held by a bpf_link: when the process ends, however it ends,
// nothing is left on the interface. Another program that is there already is never replaced.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ebpf/filter_module.hpp"
#include "ebpf/kernel_counters.hpp"
#include "ebpf/kernel_descriptor.hpp"
#include "ebpf/kernel_program.hpp"

namespace trama::ebpf {

// Native: the driver runs the program, before the kernel makes a packet buffer. Generic: the kernel runs it later, with
// any driver, and slower.
enum class KernelMode : uint8_t { automatic, native, generic };

const char* name_of(KernelMode mode) noexcept;  // "native"

// Off: an administrator has taken it off by force, and packets come past it. Gone: the interface is no more.
enum class KernelFilterState : uint8_t { on, off, gone };

struct KernelFilterOptions {
  KernelMode mode = KernelMode::automatic;  // native, and where the driver refuses that, generic
  // An XSKMAP: what passes goes to the socket of its receive queue, and where there is none, to the host.
  int sockets = -1;
};

// Packets, since the filter was attached.
struct KernelCounts {
  uint64_t passed = 0;                             // by all modules; 0 without modules
  uint64_t excluded = 0, filtered = 0, fault = 0;  // by the first module that didn't let them go on
  uint64_t removed() const noexcept { return excluded + filtered + fault; }
};

constexpr size_t kMaxKernelModules = 32;

class KernelFilter {
 public:
  // Modules judge in the order given; without modules (and with sockets) all passes. The interface is looked for in
  // this thread's network namespace. Refuses, with what mends it: missing capabilities, one by one; no such interface;
  // a program that is there already; modules that don't fit (check_fit_for_kernel) or that the kernel's verifier
  // refuses; a driver that refuses the mode asked for.
  static Expected<std::unique_ptr<KernelFilter>> attach(const std::string& interface, ModuleChain modules,
                                                        const KernelFilterOptions& options);
  ~KernelFilter();  // detaches
  KernelFilter(const KernelFilter&) = delete;
  KernelFilter& operator=(const KernelFilter&) = delete;

  KernelMode mode() const noexcept { return mode_; }  // native or generic
  const std::string& why_generic() const noexcept {
    return why_generic_;
  }  // what native mode was refused for, or empty
  // The driver may deliver a packet in several pieces, of which modules see the first.
  bool frames_in_pieces() const noexcept { return frames_in_pieces_; }

  // One thread at a time; allocates nothing. Empty: the kernel refuses to tell.
  std::optional<KernelCounts> counts() noexcept;
  std::optional<VerdictCounts> verdicts(size_t module) noexcept;

  // By one or two system calls, from a thread in the network namespace of the interface.
  KernelFilterState state() const noexcept;

  // Takes it off the interface for good; what it has counted can still be read.
  void detach() noexcept;

  // The same modules with other contents of their maps, in force from one packet to the next: a new program takes the
  // old one's place at once, so that a packet is judged by all of the old contents or by all of the new. Maps that
  // programs count into go on counting. Any thread. Needs the same capabilities as attach(); refused, the old contents
  // stay in force. Refuses modules that differ in their maps or in what their verdicts mean.
  Expected<void> update(ModuleChain modules);

 private:
  KernelFilter(uint32_t index, ModuleChain modules, const KernelFilterOptions& options);
  Expected<void> attach_in_some_mode(const std::string& interface);
  Expected<void> load(bool frames_in_pieces);
  int link(KernelMode mode);  // 0, or an error number

  const uint32_t index_;  // of the interface
  const KernelFilterOptions options_;
  std::vector<std::array<Decision, kCountedVerdicts>> decisions_;  // by module
  KernelMode mode_ = KernelMode::native;
  std::string why_generic_;
  bool frames_in_pieces_ = false;
  std::optional<KernelCounters> counters_;
  std::array<VerdictCounts, kMaxKernelModules> sums_{};
  std::mutex updating_;
  std::vector<std::shared_ptr<const FilterModule>> modules_;  // in force
  std::optional<KernelProgram> program_;
  Descriptor link_;  // last: the first to go
};

}  // namespace trama::ebpf
