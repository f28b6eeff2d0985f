// Jumps, ends and calls of functions in the verifier's dataflow.
#include <algorithm>

#include "ebpf/dataflow.hpp"
#include "ebpf/instruction.hpp"
#include "ebpf/scalar_bounds.hpp"

namespace trama::ebpf {

void Dataflow::step_branch(uint32_t at, State& state) {
  const bpf_insn& instruction = code_[at];
  const auto target = static_cast<uint32_t>(int64_t{at} + 1 + instruction.off);
  if (is_plain_jump(instruction)) return push(target, state);
  if (!read(at, state, instruction.dst_reg)) return;
  decide(state.registers[instruction.dst_reg]);
  if (takes_register(instruction)) {
    if (!read(at, state, instruction.src_reg)) return;
    decide(state.registers[instruction.src_reg]);
  }
  State taken = state;
  learn(instruction, true, taken);
  learn(instruction, false, state);
  push(target, taken);
  push(at + 1, state);
}

void Dataflow::learn(const bpf_insn& instruction, bool holds, State& state) const {
  const uint8_t condition = operation_of(instruction);
  const bool wide = class_of(instruction) == BPF_JMP;
  Register& a = state.registers[instruction.dst_reg];
  Register immediate = Register::constant(wide ? immediate_64(instruction) : static_cast<uint32_t>(instruction.imm));
  Register& b = takes_register(instruction) ? state.registers[instruction.src_reg] : immediate;
  learn_bounds(instruction, holds, a, b);
  if (!wide) return;

  // `p <= end` and `p < end`, however they are written.
  const bool less = condition == BPF_JLT || condition == BPF_JLE,
             greater = condition == BPF_JGT || condition == BPF_JGE;
  const bool strict = condition == BPF_JLT || condition == BPF_JGT;
  if (a.base == Base::packet && b.base == Base::packet_end) {
    if (less && holds) learn_packet_range(state, a, strict);
    if (greater && !holds) learn_packet_range(state, a, !strict);
  }
  if (a.base == Base::packet_end && b.base == Base::packet) {
    if (greater && holds) learn_packet_range(state, b, strict);
    if (less && !holds) learn_packet_range(state, b, !strict);
  }
  if (a.may_be_null() && b.is_null()) {
    if (condition == BPF_JEQ) learn_null_test(state, instruction.dst_reg, holds);
    if (condition == BPF_JNE) learn_null_test(state, instruction.dst_reg, !holds);
  }
}

void Dataflow::learn_packet_range(State& state, const Register& pointer, bool strictly) {
  const int32_t id = pointer.id, bytes = pointer.offset + (strictly ? 1 : 0);
  state.for_all([id, bytes](Register& one) {
    if (one.base == Base::packet && one.id == id) one.range = std::max(one.range, bytes);
  });
}

void Dataflow::learn_null_test(State& state, uint32_t number, bool null) {
  const auto decided = [null](Register& one) {
    if (null) {
      const uint64_t origins = one.origins;
      one = Register::constant(0);
      one.origins = origins;
    } else {
      one.base = one.base == Base::value_or_null    ? Base::value
                 : one.base == Base::packet_or_null ? Base::packet
                                                    : Base::event;
    }
    one.twin = 0;
  };
  const int32_t twin = state.registers[number].twin;
  const Base base = state.registers[number].base;
  decided(state.registers[number]);
  if (twin == 0) return;
  state.for_all([twin, base, &decided](Register& one) {
    if (one.base == base && one.twin == twin) decided(one);
  });
}

void Dataflow::step_exit(uint32_t at, State& state) {
  const Register& result = state.registers[0];
  if (function_ == 0) {
    if (read(at, state, 0)) decide(result);
    return;
  }
  returns(result);
}

// Of the result only numbers are followed, and their bound only as long as it doesn't change.
void Dataflow::returns(Register result) {
  if (result.base != Base::scalar && result.base != Base::unset) result = Register::either(result, result);
  Effect& known = effect();
  known.result = known.returns ? join(known.result, result, true) : result;
  known.returns = true;
}

void Dataflow::step_function_call(uint32_t at, State& state) {
  const auto target = static_cast<uint32_t>(int64_t{at} + 1 + code_[at].imm);
  const uint32_t callee = shape_.function_of[target];
  State inside;
  for (uint32_t number = 1; number <= 5; ++number) {
    Register argument = state.registers[number];
    argument.twin = 0;
    if (argument.base == Base::stack) {
      // The callee may read it through a pointer of which nothing more is known.
      if (facts_) facts_->functions[function_].zero_stack = true;
      for (const Slot& slot : state.slots) decide(slot.content);
      argument = Register::pointer(Base::outer_stack);
    }
    inside.registers[number] = argument;
  }
  inside.registers[10] = Register::pointer(Base::stack);
  call_blocks_[callee].insert(block_);
  push(target, inside);

  const Effect& called = effects_[callee];
  if (!called.returns) return;  // not yet known to; this block is looked at again when it is
  state.registers[0] = called.result;
  for (uint32_t number = 1; number <= 5; ++number) state.registers[number] = {};
  if (called.moves_packet) {
    state.forget_packet();
    effect().moves_packet = true;
  }
  if (called.clobbers) {
    state.forget_slot_contents();
    effect().clobbers = true;
  }
  push(at + 1, state);
}

}  // namespace trama::ebpf
