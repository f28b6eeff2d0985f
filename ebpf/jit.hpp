// Compiles the programs of an object to machine code: x86-64 and 64-bit Arm (any ARMv8.0).
//
// What run() does and leaves behind is what Interpreter::run() does and leaves behind, for programs that the verifier
// accepts: verdict, registers, memory, maps, events, and for a fault its kind and place. Two differences are allowed
// for. Accesses that the verifier has proven are not checked. Accesses of which it knows only what they point into (the
// packet, the stack, map values, events) fault when they leave that, even where something else lies that the program
// may reach: only programs that compute distances between those can tell.
//
// So the code is as safe as the verifier is right. It is never writable and executable at the same time: it is written
// to memory that is sealed against further writing before it is mapped to run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ebpf/error.hpp"
#include "ebpf/execution.hpp"
#include "ebpf/jit_memory.hpp"
#include "ebpf/map.hpp"
#include "ebpf/object.hpp"
#include "ebpf/verifier.hpp"

namespace trama::ebpf {

class Jit {
 public:
  // The analysis is of this very object. Addresses of the maps become part of the code: they must outlive it, and
  // executions must be attached to them. Refuses where there is no code for the processor, where the system gives no
  // executable memory (SELinux, seccomp), and programs that are too long for the processor's jumps.
  static Expected<std::unique_ptr<Jit>> compile(const Object& object, const Analysis& analysis, const Maps& maps);

  // See Interpreter::run(). Execution::writable_maps and packet_writable name at least what Properties does.
  uint64_t run(uint32_t program, Execution& execution) const noexcept { return programs_[program](&execution); }
  // The same as a function, for who runs one program often.
  using Entry = uint64_t (*)(Execution*);
  Entry entry(uint32_t program) const noexcept { return programs_[program]; }

  size_t code_bytes() const noexcept { return memory_.code_bytes(); }
  static const char* processor() noexcept;  // "x86-64" or "arm64"; null: there is no code for this one

 private:
  Jit(CodeMemory memory, std::vector<Entry> programs);

  CodeMemory memory_;
  std::vector<Entry> programs_;
};

}  // namespace trama::ebpf
