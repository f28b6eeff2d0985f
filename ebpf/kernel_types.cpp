#include "ebpf/kernel_types.hpp"

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <memory>

namespace trama::ebpf {
namespace {

// As C has them.
std::string identifier(std::string name) {
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front()))) name.insert(name.begin(), '_');
  constexpr size_t kLongest = 127;  // the kernel's
  return name.substr(0, kLongest);
}

tl::unexpected<Refusal> cannot_load(int error) {
  return refuse(std::string("the kernel refuses type information: ") + std::strerror(error));
}

}  // namespace

Expected<KernelTypes> KernelTypes::load(std::span<const NamedFunction> functions) {
  KernelTypes made;
  const std::unique_ptr<btf, decltype(&btf__free)> types(btf__new_empty(), btf__free);
  if (!types) return cannot_load(errno);
  const int number = btf__add_int(types.get(), "int", 4, BTF_INT_SIGNED);
  const int prototype = btf__add_func_proto(types.get(), number);
  if (prototype < 0) return cannot_load(-prototype);
  for (const NamedFunction& function : functions) {
    const int id = btf__add_func(types.get(), identifier(function.name).c_str(), BTF_FUNC_STATIC, prototype);
    if (id < 0) return cannot_load(-id);
    made.functions_.push_back({function.entry, static_cast<uint32_t>(id)});
  }
  uint32_t size = 0;
  const void* const bytes = btf__raw_data(types.get(), &size);
  if (!bytes) return cannot_load(ENOMEM);
  made.types_ = Descriptor(bpf_btf_load(bytes, size, nullptr));
  if (!made.types_) return cannot_load(errno);
  return made;
}

}  // namespace trama::ebpf
