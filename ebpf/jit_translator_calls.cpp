// Calls of functions, helpers and other programs.
#include "ebpf/helpers.hpp"
#include "ebpf/instruction.hpp"
#include "ebpf/jit_runtime.hpp"
#include "ebpf/jit_translator.hpp"

namespace trama::ebpf {

void JitTranslator::call(uint32_t at) {
  const bpf_insn& instruction = (*code_)[at];
  if (is_function_call(instruction)) return call_function(at);
  if (instruction.imm == BPF_FUNC_tail_call) return tail_call(at);
  call_helper(at);
}

void JitTranslator::call_function(uint32_t at) {
  target_.pay(facts_->step_costs[at], stop(at, Fault::step_limit));
  // How deep functions go is known, but not how deep a program is that another one has called.
  if (analysis_.properties.tail_calls) target_.check_depth(stop(at, Fault::call_depth));
  target_.call_function(functions_[static_cast<size_t>(int64_t{at} + 1 + (*code_)[at].imm)]);
  // Nothing was made of what follows if the function never returns.
  if (!facts_->instructions[at + 1].reached) target_.jump(stop(at, Fault::bad_instruction));
}

void JitTranslator::call_helper(uint32_t at) {
  target_.call_helper(reinterpret_cast<const void*>(find_helper((*code_)[at].imm)->function));
  target_.check_fault(stop(at, Fault::none));
  target_.check_steps(stop(at, Fault::step_limit));
}

void JitTranslator::tail_call(uint32_t at) {
  constexpr uint8_t kResult = 0, kContext = 1, kPrograms = 4;
  const Label falls_through = target_.label();
  target_.set(kPrograms, object_.programs.size());
  target_.call_helper(reinterpret_cast<const void*>(&tail_call_target));
  target_.jump_if(BPF_JSLT, true, kResult, JitOperand::of_immediate(0), falls_through);
  target_.set(kContext, kContextTag);
  target_.jump_by_table(tail_table_);
  target_.bind(falls_through);
  target_.check_fault(stop(at, Fault::none));
}

}  // namespace trama::ebpf
