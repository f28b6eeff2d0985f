#include "ebpf/kernel_counters.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace trama::ebpf {

Expected<KernelCounters> KernelCounters::make(size_t modules) {
  KernelCounters made;
  const auto entries = static_cast<uint32_t>(std::max<size_t>(modules, 1));
  made.map_ = Descriptor(bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "trama_counters", sizeof(uint32_t),
                                        sizeof(VerdictCounts), entries, nullptr));
  if (!made.map_) return refuse(std::string("the kernel refuses to make a map: ") + std::strerror(errno));
  made.by_processor_.resize(static_cast<size_t>(libbpf_num_possible_cpus()));
  return made;
}

bool KernelCounters::read(std::span<VerdictCounts> sums) noexcept {
  for (uint32_t module = 0; module < sums.size(); ++module) {
    sums[module] = {};
    if (bpf_map_lookup_elem(map_.number(), &module, by_processor_.data()) != 0) return false;
    for (const VerdictCounts& counts : by_processor_)
      for (size_t verdict = 0; verdict < counts.size(); ++verdict) sums[module][verdict] += counts[verdict];
  }
  return true;
}

}  // namespace trama::ebpf
