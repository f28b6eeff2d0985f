// Loads, stores and atomics.
#include "ebpf/instruction.hpp"
#include "ebpf/jit_runtime.hpp"
#include "ebpf/jit_translator.hpp"

namespace trama::ebpf {
namespace {

// Whether an event is still open isn't known where functions may have closed it: those are always checked.
bool needs_no_check(const InstructionFacts& fact) { return fact.proven && fact.base != Base::event; }

}  // namespace

void JitTranslator::load(uint32_t at) {
  const bpf_insn& instruction = (*code_)[at];
  const InstructionFacts& fact = facts_->instructions[at];
  if (fact.context_field >= 0) return load_context(at);
  if (!needs_no_check(fact)) return load_unproven(at);
  target_.load(access_bytes(instruction), instruction.dst_reg, {false, instruction.src_reg, instruction.off});
}

void JitTranslator::load_context(uint32_t at) {
  const uint8_t to = (*code_)[at].dst_reg;
  switch (facts_->instructions[at].context_field) {
    case offsetof(xdp_md, data): return target_.load_field(to, offsetof(Execution, data), 8);
    case offsetof(xdp_md, data_end): return target_.load_field(to, offsetof(Execution, data_end), 8);
    case offsetof(xdp_md, data_meta): return target_.load_field(to, offsetof(Execution, data_meta), 8);
    case offsetof(xdp_md, ingress_ifindex): return target_.load_field(to, offsetof(Execution, ingress_ifindex), 4);
    default: return target_.load_field(to, offsetof(Execution, rx_queue_index), 4);
  }
}

// What the packet holds is found without a call.
void JitTranslator::load_unproven(uint32_t at) {
  const bpf_insn& instruction = (*code_)[at];
  const uint8_t to = instruction.dst_reg;
  const Region region = region_of(facts_->instructions[at].base);
  const AccessCheck check{access_bytes(instruction), region};
  target_.address_of({false, instruction.src_reg, instruction.off});
  const Label faulted = stop(at, Fault::none);
  const auto load_slowly = [this, check, to, faulted] {
    target_.slow_load(check.packed());
    target_.check_fault(faulted);
    target_.take_loaded(to);
  };
  if (region != Region::any && region != Region::packet) return load_slowly();
  const Label elsewhere = target_.label(), done = target_.label();
  target_.check_packet(check.bytes, elsewhere);
  target_.load(check.bytes, to, JitPlace::at_address());
  target_.bind(done);
  seldom_.emplace_back([this, elsewhere, done, load_slowly] {
    target_.bind(elsewhere);
    load_slowly();
    target_.jump(done);
  });
}

// Stores that aren't proven are rare, and which memory may be written is more than a range.
JitPlace JitTranslator::checked_place(uint32_t at, bool is_atomic_one) {
  const bpf_insn& instruction = (*code_)[at];
  const InstructionFacts& fact = facts_->instructions[at];
  const JitPlace place{false, instruction.dst_reg, instruction.off};
  if (needs_no_check(fact)) return place;
  target_.address_of(place);
  target_.slow_store(AccessCheck{access_bytes(instruction), region_of(fact.base), is_atomic_one}.packed());
  target_.check_fault(stop(at, Fault::none));
  return JitPlace::at_address();
}

void JitTranslator::store(uint32_t at) {
  const bpf_insn& instruction = (*code_)[at];
  const bool from_register = class_of(instruction) == BPF_STX;
  const JitPlace place = checked_place(at, false);
  target_.store(
      access_bytes(instruction), place,
      from_register ? JitOperand::of_register(instruction.src_reg) : JitOperand::of_immediate(instruction.imm));
}

void JitTranslator::atomic(uint32_t at) {
  const bpf_insn& instruction = (*code_)[at];
  const JitPlace place = checked_place(at, true);
  target_.atomic(access_bytes(instruction), instruction.imm, place, instruction.src_reg);
}

}  // namespace trama::ebpf
