// For processors that no machine code is made for: filters are interpreted there.
#include "ebpf/jit_target.hpp"

namespace trama::ebpf {

std::unique_ptr<JitTarget> JitTarget::make(asmjit::CodeHolder&) { return nullptr; }
const char* JitTarget::name() noexcept { return nullptr; }

}  // namespace trama::ebpf
