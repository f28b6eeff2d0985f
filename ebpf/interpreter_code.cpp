// What the interpreter makes of instructions before it runs them.
#include "ebpf/instruction.hpp"
#include "ebpf/interpreter.hpp"
#include "ebpf/verifier.hpp"

namespace trama::ebpf {
namespace {

constexpr uint8_t kNoInstruction = 0xff;

}  // namespace

// What can't be run, whatever the data, becomes an operation without meaning: jumps and calls to nowhere, wide loads
// cut in half or of maps that aren't there.
Interpreter::Operation Interpreter::unpack(const Object& object, const std::vector<bpf_insn>& code, uint32_t at) {
  const bpf_insn& instruction = code[at];
  Operation operation{instruction.code, instruction.dst_reg,       instruction.src_reg,
                      instruction.off,  immediate_64(instruction), 0};
  const bool call = is_function_call(instruction);
  if (call || is_jump(instruction)) {
    const int64_t target = int64_t{at} + 1 + (call ? instruction.imm : int32_t{instruction.off});
    if (target < 0 || target >= static_cast<int64_t>(code.size())) operation.code = kNoInstruction;
  }
  if (instruction.code != kWideLoad) return operation;
  const auto map = static_cast<uint32_t>(instruction.imm);
  const bool known_map = map < object.maps.size();
  if (at + 1 == code.size()) {
    operation.code = kNoInstruction;
  } else if (instruction.src_reg == 0) {
    operation.immediate = wide_constant(instruction, code[at + 1]);
  } else if (instruction.src_reg == BPF_PSEUDO_MAP_IDX && known_map) {
    operation.immediate = kMapTag | map;
  } else if (instruction.src_reg == BPF_PSEUDO_MAP_IDX_VALUE && known_map) {
    operation.immediate = uint64_t{map} << 32 | static_cast<uint32_t>(code[at + 1].imm);
  } else {
    operation.code = kNoInstruction;
  }
  return operation;
}

Interpreter::Interpreter(const Object& object) {
  for (const Program& program : object.programs) {
    std::vector<Operation>& operations = programs_.emplace_back();
    const std::vector<uint32_t> costs = ebpf::step_costs(program.code);
    for (uint32_t at = 0; at < program.code.size(); ++at) {
      operations.push_back(unpack(object, program.code, at));
      operations.back().cost = costs[at];
    }
    operations.push_back({kNoInstruction, 0, 0, 0, 0, 0});
  }
}

}  // namespace trama::ebpf
