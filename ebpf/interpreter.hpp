// Runs programs instruction by instruction, checking every access. It relies on no proof of the verifier.
//
// It may be given code that the verifier refuses; what makes no sense is then a fault. Registers that were never
// written are 0, and so is a frame of the stack when its function begins.
#pragma once
#include <cstdint>
#include <vector>

#include "ebpf/execution.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

enum class Action : uint8_t;  // interpreter_actions.hpp

class Interpreter {
 public:
  // The object must outlive it, unchanged. Allocates; run() doesn't.
  explicit Interpreter(const Object& object);
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // The program's return value (the verdict is its low 32 bits), or XDP_ABORTED with execution.fault set. The execution
  // is attached to maps of the same object, inside a batch, and shows the packet.
  uint64_t run(uint32_t program, Execution& execution) const noexcept;

 private:
  // An instruction, unpacked.
  struct Operation {
    Action action{};  // nonsense
    uint8_t to = 0, from = 0;
    int32_t offset = 0;                 // of memory; of a swap of bytes, whether to big-endian
    uint64_t immediate = 0;             // sign-extended; of wide loads the whole constant; of helpers the function
    const Operation* target = nullptr;  // of jumps and calls
    uint32_t cost = 0;                  // see step_costs()
  };
  class Run;
  static Operation unpack(const Object& object, const std::vector<bpf_insn>& code, uint32_t at);
  static void join_with_next(const std::vector<bpf_insn>& code, uint32_t at, Operation& operation);
  std::vector<std::vector<Operation>> programs_;  // each with an operation at its end that no program has
};

}  // namespace trama::ebpf
