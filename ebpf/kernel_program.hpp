// A chain of modules as one XDP program in the kernel, with its maps. Not attached to anything.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ebpf/filter_module.hpp"
#include "ebpf/kernel_descriptor.hpp"
#include "ebpf/kernel_dispatcher.hpp"
#include "ebpf/kernel_maps.hpp"

namespace trama::ebpf {

using ModuleChain = std::span<const std::shared_ptr<const FilterModule>>;

struct KernelProgramOptions {
  int counters = -1;  // map of KernelCounters
  int sockets = -1;   // XSKMAP for what passes, or -1
  // Takes frames that the driver delivers in several pieces, as with an MTU above a page. A program sees the first
  // piece, as if the packet had been cut there.
  bool frames_in_pieces = false;
};

class KernelProgram {
 public:
  // What the kernel's verifier refuses is a refusal with its last words, and the line of the module's source. From
  // `before` (or null), of the same chain, come maps that programs count into.
  static Expected<KernelProgram> load(ModuleChain chain, const KernelProgramOptions& options,
                                      const KernelProgram* before);

  int descriptor() const noexcept { return program_.number(); }
  const KernelMaps& maps(size_t module) const noexcept { return maps_[module]; }

 private:
  std::vector<KernelMaps> maps_;        // by module
  std::vector<Descriptor> tail_calls_;  // programs in slots; a slot alone wouldn't keep its array filled
  Descriptor program_;
};

// Refuses what would give other results in the kernel than inside the engine: modules that write into packets or move
// them, since the engine is to see what the kernel saw; and those that depend on when and where a packet is judged,
// since there every processor judges packets.
Expected<void> check_fit_for_kernel(const FilterModule& module);

}  // namespace trama::ebpf
