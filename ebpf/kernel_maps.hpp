// The maps of one module in the kernel, filled with what the module's maps in user space hold.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "ebpf/filter_module.hpp"
#include "ebpf/kernel_descriptor.hpp"

namespace trama::ebpf {

class KernelMaps {
 public:
  // Of those that the module's programs name; the others are left out. A value of a map per CPU is replica 0's, for
  // every processor. Program arrays are empty. From `before` (or null), maps of the same module, come those that
  // programs write and control doesn't replace as a whole: what they have counted goes on.
  static Expected<KernelMaps> create(const FilterModule& module, const KernelMaps* before);

  int descriptor(uint32_t map) const noexcept { return maps_[map] ? maps_[map]->number() : -1; }

 private:
  std::vector<std::shared_ptr<const Descriptor>> maps_;  // by index in Object::maps; null: not used
};

// Bit i: map i is named by the entry program, or by one that a tail call may reach.
uint64_t maps_in_use(const FilterModule& module);

// The programs that tail calls may reach, as indices in Object::programs, ascending.
std::vector<uint32_t> tail_called_programs(const FilterModule& module);

}  // namespace trama::ebpf
