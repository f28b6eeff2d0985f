// Type information (BTF) for the functions of a program that we put together ourselves: that each returns an int. The
// kernel asks for it where a function that isn't the program itself makes tail calls, and shows the names.
#pragma once
#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ebpf/error.hpp"
#include "ebpf/kernel_descriptor.hpp"

namespace trama::ebpf {

struct NamedFunction {
  uint32_t entry = 0;  // instruction
  std::string name;
};

class KernelTypes {
 public:
  // Every function of the program, ascending; the first one is the program itself.
  static Expected<KernelTypes> load(std::span<const NamedFunction> functions);

  int descriptor() const noexcept { return types_.number(); }
  const std::vector<bpf_func_info>& functions() const noexcept { return functions_; }

 private:
  Descriptor types_;
  std::vector<bpf_func_info> functions_;
};

}  // namespace trama::ebpf
