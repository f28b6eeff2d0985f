#include "ebpf/jit_translator.hpp"

#include <algorithm>
#include <utility>

#include "ebpf/helpers.hpp"
#include "ebpf/instruction.hpp"
#include "ebpf/instruction_groups.hpp"

namespace trama::ebpf {
namespace {

JitOperand operand_of(const bpf_insn& instruction) {
  return takes_register(instruction) ? JitOperand::of_register(instruction.src_reg)
                                     : JitOperand::of_immediate(instruction.imm);
}

}  // namespace

JitTranslator::JitTranslator(const Object& object, const Analysis& analysis, const Maps& maps, JitTarget& target)
    : object_(object),
      analysis_(analysis),
      maps_(maps),
      target_(target),
      // Frames that are cleared only where their own function may read what it hasn't written are not as the
      // interpreter leaves them.
      clear_all_frames_(looks_anywhere_on_the_stack(object, analysis)),
      tail_table_(target.label()) {
  for (size_t program = 0; program < object.programs.size(); ++program) {
    programs_.push_back(target.label());
    tails_.push_back(target.label());
  }
}

void JitTranslator::translate() {
  target_.slow_accesses();
  for (uint32_t program = 0; program < object_.programs.size(); ++program) translate_program(program);
  target_.align(sizeof(uint64_t));
  target_.bind(tail_table_);
  for (const Label& tail : tails_) target_.embed(tail);
}

void JitTranslator::translate_program(uint32_t program) {
  program_ = program;
  code_ = &object_.programs[program].code;
  facts_ = &analysis_.programs[program];
  liveness_ = find_needless(*code_, *facts_);
  make_labels();
  make_frame();
  start_program();
  for (uint32_t at = 0; at < code_->size(); ++at) {
    if (!facts_->instructions[at].reached) continue;
    if (facts_->instructions[at].function_entry) start_function(at);
    if (labels_[at].isValid()) target_.bind(labels_[at]);
    at += translate(at) - 1;
  }
  end_program();
}

void JitTranslator::make_labels() {
  labels_.assign(code_->size(), Label());
  functions_.assign(code_->size(), Label());
  for (uint32_t at = 0; at < code_->size(); ++at) {
    const InstructionFacts& fact = facts_->instructions[at];
    if (fact.reached && fact.jump_target) labels_[at] = target_.label();
    if (fact.reached && fact.function_entry) functions_[at] = target_.label();
  }
  stop_ = target_.label();
}

// After a tail call the C function of one program ends for another.
void JitTranslator::make_frame() {
  constexpr uint32_t kAll = 1u << 6 | 1u << 7 | 1u << 8 | 1u << 9;
  uint32_t changed = 0;
  for (uint32_t at = 0; at < code_->size(); ++at) {
    const bpf_insn& instruction = (*code_)[at];
    if (!facts_->instructions[at].reached || liveness_.needless[at]) continue;
    changed |= 1u << instruction.dst_reg;
    if (is_atomic(instruction)) changed |= 1u << instruction.src_reg;
  }
  frame_.called = analysis_.properties.tail_calls;
  frame_.kept = frame_.called ? kAll : changed & kAll;
  frame_.context = liveness_.context;
  frame_.deep = frame_.called || facts_->functions.size() > 1;
}

void JitTranslator::start_program() {
  target_.bind(programs_[program_]);
  target_.enter(frame_);
  if (!frame_.called) return;
  target_.call_program(functions_[0]);
  target_.leave(frame_);
}

// The program itself begins where the C function has begun, if it isn't called.
void JitTranslator::start_function(uint32_t at) {
  if (at != 0 || frame_.called) {
    target_.bind(functions_[at]);
    target_.function_start();
  }
  if (at == 0) target_.bind(tails_[program_]);
  const auto function = std::find_if(facts_->functions.begin(), facts_->functions.end(),
                                     [at](const FunctionFacts& one) { return one.entry == at; });
  if (clear_all_frames_ || function->zero_stack) target_.clear_frame();
}

uint32_t JitTranslator::translate(uint32_t at) {
  if (liveness_.needless[at]) return 1;
  if (const auto found = lookup_at(at)) {
    lookup(*found);
    return found->next - at;
  }
  const bpf_insn& instruction = (*code_)[at];
  if (is_sum(at)) {
    target_.add(instruction.dst_reg, instruction.src_reg, (*code_)[at + 1].imm);
    return 2;
  }
  if (jumps_over_jump(at)) {
    const Label& to = labels_[static_cast<size_t>(int64_t{at} + 2 + (*code_)[at + 1].off)];
    target_.jump_if(opposite_of(operation_of(instruction)), class_of(instruction) == BPF_JMP, instruction.dst_reg,
                    operand_of(instruction), to);
    return 2;
  }
  translate_one(at);
  return 1;
}

void JitTranslator::translate_one(uint32_t at) {
  const bpf_insn& instruction = (*code_)[at];
  switch (class_of(instruction)) {
    case BPF_ALU:
    case BPF_ALU64: return alu(instruction);
    case BPF_LD: return wide_load(at);
    case BPF_LDX: return load(at);
    case BPF_ST: return store(at);
    case BPF_STX: return is_atomic(instruction) ? atomic(at) : store(at);
    default: break;
  }
  if (is_exit(instruction)) return exit(at);
  if (is_call(instruction)) return call(at);
  branch(at);
}

void JitTranslator::exit(uint32_t at) {
  const bool of_program = at < facts_->functions[0].end;
  if (of_program && !frame_.called) return target_.leave(frame_);
  target_.exit();
}

// One instruction of most processors.
bool JitTranslator::is_sum(uint32_t at) const { return ebpf::is_sum(*code_, at) && !jumped_to(at + 1); }

void JitTranslator::alu(const bpf_insn& instruction) {
  const bool wide = class_of(instruction) == BPF_ALU64;
  if (operation_of(instruction) == BPF_END)
    return target_.swap_bytes(instruction.dst_reg, instruction.imm, takes_register(instruction));
  target_.compute(operation_of(instruction), wide, instruction.dst_reg, operand_of(instruction));
}

// "if c goto +1; goto there", which is one jump: if not c goto there. Jumps backward cost steps, and are left alone.
bool JitTranslator::jumps_over_jump(uint32_t at) const {
  const bpf_insn& condition = (*code_)[at];
  if (!is_jump(condition) || opposite_of(operation_of(condition)) == 0 || condition.off != 1) return false;
  const bpf_insn& jump = (*code_)[at + 1];
  return is_plain_jump(jump) && jump.off >= 0 && facts_->instructions[at + 1].reached && !jumped_to(at + 1);
}

void JitTranslator::branch(uint32_t at) {
  const bpf_insn& instruction = (*code_)[at];
  const Label& to = labels_[static_cast<size_t>(int64_t{at} + 1 + instruction.off)];
  if (instruction.off < 0) target_.pay(facts_->step_costs[at], stop(at, Fault::step_limit));
  if (is_plain_jump(instruction)) return target_.jump(to);
  const bool wide = class_of(instruction) == BPF_JMP;
  target_.jump_if(operation_of(instruction), wide, instruction.dst_reg, operand_of(instruction), to);
}

void JitTranslator::wide_load(uint32_t at) {
  const bpf_insn& instruction = (*code_)[at];
  const bpf_insn& second = (*code_)[at + 1];
  const auto map = static_cast<uint32_t>(instruction.imm);
  switch (instruction.src_reg) {
    case BPF_PSEUDO_MAP_IDX:
      if (!only_names_map_for_lookup(at)) target_.set(instruction.dst_reg, kMapTag | map);
      return;
    case BPF_PSEUDO_MAP_IDX_VALUE:
      return target_.set(instruction.dst_reg,
                         reinterpret_cast<uint64_t>(maps_[map].layout().values) + static_cast<uint32_t>(second.imm));
    default: return target_.set(instruction.dst_reg, wide_constant(instruction, second));
  }
}

JitTranslator::Label JitTranslator::stop(uint32_t at, Fault fault) {
  const Label here = target_.label();
  seldom_.emplace_back([this, here, at, fault] {
    target_.bind(here);
    if (fault != Fault::none) target_.set_field(offsetof(Execution, fault), static_cast<uint32_t>(fault));
    target_.set_field(offsetof(Execution, fault_instruction), at);
    target_.jump(stop_);
  });
  return here;
}

void JitTranslator::end_program() {
  // What is put here may have seldom things of its own.
  for (size_t next = 0; next < seldom_.size(); ++next) std::exchange(seldom_[next], nullptr)();
  seldom_.clear();
  target_.bind(stop_);
  target_.set_field(offsetof(Execution, fault_program), program_);
  target_.abort(frame_);
}

}  // namespace trama::ebpf
