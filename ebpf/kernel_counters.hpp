// What the dispatcher of kernel_dispatcher.hpp counts: the verdicts of each module, exactly.
#pragma once
#include <span>
#include <vector>

#include "ebpf/error.hpp"
#include "ebpf/kernel_descriptor.hpp"
#include "ebpf/kernel_dispatcher.hpp"

namespace trama::ebpf {

class KernelCounters {
 public:
  static Expected<KernelCounters> make(size_t modules);

  int descriptor() const noexcept { return map_.number(); }

  // Since the start, summed over processors, a value for each module. One thread at a time; allocates nothing. False,
  // and `sums` are not whole: the kernel refuses to tell (before Linux 5.19 it wants CAP_BPF for that, too).
  bool read(std::span<VerdictCounts> sums) noexcept;

 private:
  Descriptor map_;
  std::vector<VerdictCounts> by_processor_;
};

}  // namespace trama::ebpf
