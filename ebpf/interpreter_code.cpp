// What the interpreter makes of instructions before it runs them.
#include "ebpf/helpers.hpp"
#include "ebpf/instruction.hpp"
#include "ebpf/instruction_groups.hpp"
#include "ebpf/interpreter.hpp"
#include "ebpf/interpreter_actions.hpp"
#include "ebpf/verifier.hpp"

namespace trama::ebpf {
namespace {

// So many actions further on in the enumeration.
constexpr Action after(Action first, uint32_t actions) {
  return static_cast<Action>(static_cast<uint32_t>(first) + actions);
}

// The first of four forms, in the order of TRAMA_FORMS.
Action form_of(Action first, const bpf_insn& instruction) {
  const bool half = class_of(instruction) == BPF_ALU || class_of(instruction) == BPF_JMP32;
  return after(first, (half ? 2 : 0) + (takes_register(instruction) ? 0 : 1));
}

Action arithmetic(const bpf_insn& instruction) {
#define TRAMA_CASE(operation) \
  case BPF_##operation: return form_of(Action::operation##_64_register, instruction);
  switch (operation_of(instruction)) {
    TRAMA_ARITHMETIC(TRAMA_CASE)
    case BPF_END: return class_of(instruction) == BPF_ALU ? Action::swap : Action::nonsense;
    default: return Action::nonsense;
  }
}

Action condition(const bpf_insn& instruction) {
  switch (operation_of(instruction)) {
    TRAMA_CONDITIONS(TRAMA_CASE)
    default: return Action::nonsense;
  }
#undef TRAMA_CASE
}

// In the order of TRAMA_ACCESSES.
Action access(const bpf_insn& instruction) {
  constexpr uint32_t kStore = 2, kSet = 4;
  if (mode_of(instruction) != BPF_MEM) return Action::nonsense;
  const bool loads = class_of(instruction) == BPF_LDX;
  const uint8_t base = loads ? instruction.src_reg : instruction.dst_reg;
  const uint32_t kind = loads ? 0 : class_of(instruction) == BPF_STX ? kStore : kSet;
  const uint32_t which = kind + (base == BPF_REG_10 ? 1 : 0);
  switch (access_bytes(instruction)) {
    case 1: return after(Action::load_B, which);
    case 2: return after(Action::load_H, which);
    case 4: return after(Action::load_W, which);
    default: return after(Action::load_DW, which);
  }
}

Action call(const bpf_insn& instruction) {
  if (is_function_call(instruction)) return Action::call_function;
  if (!is_helper_call(instruction)) return Action::nonsense;
  if (instruction.imm == BPF_FUNC_tail_call) return Action::call_tail;
  if (is_lookup(instruction)) return Action::call_lookup;
  return find_helper(instruction.imm) ? Action::call_helper : Action::nonsense;
}

Action action_of(const bpf_insn& instruction) {
  switch (instruction.code) {
    case BPF_STX | BPF_ATOMIC | BPF_W: return Action::atomic_W;
    case BPF_STX | BPF_ATOMIC | BPF_DW: return Action::atomic_DW;
    case BPF_JMP | BPF_JA: return Action::jump;
    case BPF_JMP | BPF_EXIT: return Action::leave;
    case BPF_JMP | BPF_CALL: return call(instruction);
    case kWideLoad: return Action::load_number;
    default: break;
  }
  switch (class_of(instruction)) {
    case BPF_ALU:
    case BPF_ALU64: return arithmetic(instruction);
    case BPF_JMP:
    case BPF_JMP32: return condition(instruction);
    case BPF_LD: return Action::nonsense;
    default: return access(instruction);
  }
}

}  // namespace

// What can't be run, whatever the data, becomes an operation without meaning: jumps and calls to nowhere (which
// Interpreter() sees), wide loads cut in half or of maps that aren't there.
Interpreter::Operation Interpreter::unpack(const Object& object, const std::vector<bpf_insn>& code, uint32_t at) {
  const bpf_insn& instruction = code[at];
  Operation operation;
  operation.action = action_of(instruction);
  operation.to = instruction.dst_reg;
  operation.from = instruction.src_reg;
  operation.offset = instruction.off;
  operation.immediate = immediate_64(instruction);
  if (operation.action == Action::call_helper || operation.action == Action::call_lookup)
    operation.immediate = reinterpret_cast<uint64_t>(find_helper(instruction.imm)->function);
  if (operation.action == Action::swap) operation.offset = takes_register(instruction);
  if (instruction.code != kWideLoad) return operation;
  const auto map = static_cast<uint32_t>(instruction.imm);
  const bool known_map = map < object.maps.size();
  if (at + 1 == code.size()) {
    operation.action = Action::nonsense;
  } else if (instruction.src_reg == 0) {
    operation.immediate = wide_constant(instruction, code[at + 1]);
  } else if (instruction.src_reg == BPF_PSEUDO_MAP_IDX && known_map) {
    operation.immediate = kMapTag | map;
  } else if (instruction.src_reg == BPF_PSEUDO_MAP_IDX_VALUE && known_map) {
    operation.action = Action::load_value;
    operation.immediate = uint64_t{map} << 32 | static_cast<uint32_t>(code[at + 1].imm);
  } else {
    operation.action = Action::nonsense;
  }
  return operation;
}

// "a = b; a += number". The map in r1, the lookup in it, and the test whether something was found.
void Interpreter::join_with_next(const std::vector<bpf_insn>& code, uint32_t at, Operation& operation) {
  if (is_sum(code, at)) {
    operation.action = Action::sum;
    operation.immediate = immediate_64(code[at + 1]);
  }
  if (operation.action == Action::load_number && is_lookup_in_map(code, at))
    operation.action = is_null_test(code, at + 3) ? Action::call_lookup_test : Action::call_lookup_in;
}

Interpreter::Interpreter(const Object& object) {
  for (const Program& program : object.programs) {
    const auto size = static_cast<int64_t>(program.code.size());
    std::vector<Operation>& operations = programs_.emplace_back(program.code.size() + 1);
    const std::vector<uint32_t> costs = ebpf::step_costs(program.code);
    for (uint32_t at = 0; at < size; ++at) {
      const bpf_insn& instruction = program.code[at];
      operations[at] = unpack(object, program.code, at);
      operations[at].cost = costs[at];
      const bool calls = is_function_call(instruction);
      join_with_next(program.code, at, operations[at]);
      if (!calls && !is_jump(instruction)) continue;
      const int64_t target = int64_t{at} + 1 + (calls ? instruction.imm : int32_t{instruction.off});
      if (target < 0 || target >= size)
        operations[at].action = Action::nonsense;
      else
        operations[at].target = operations.data() + target;
    }
  }
}

}  // namespace trama::ebpf
