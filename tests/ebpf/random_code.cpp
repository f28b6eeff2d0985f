// Numbers, jumps, loops and calls.
#include "tests/ebpf/random_code.hpp"

namespace trama::ebpf {

std::vector<bpf_insn> RandomCode::make() {
  for (function_ = 0; function_ <= kFunctions; ++function_) {
    if (function_ > 0 && !called_[static_cast<size_t>(function_)]) continue;
    if (function_ > 0) code_.label(name_of(function_));
    begin();
    actions(function_ == 0 ? 6 + below(20) : 2 + below(6));
    end();
  }
  return code_.code();
}

uint64_t RandomCode::wide_number() {
  constexpr uint64_t kEdges[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
  const uint64_t edge = kEdges[below(std::size(kEdges))];
  switch (below(5)) {
    case 0: return edge;
    case 1: return ~edge;
    case 2: return edge << below(64);
    default: return random_();
  }
}

void RandomCode::fill(int to) {
  if (one_in(2))
    code_.wide(to, wide_number());
  else
    code_.mov_imm(to, short_number());
}

void RandomCode::fill_from(int first, int last) {
  for (int to = first; to <= last; ++to) fill(to);
}

void RandomCode::context_to(int to) {
  if (keeps_context_in_register())
    code_.mov(to, numbers_);
  else
    code_.load(BPF_DW, to, 10, kContextSlot);
}

void RandomCode::begin() {
  if (keeps_context_in_register()) code_.mov(numbers_, 1);
  if (!keeps_context_in_register() || care_ == Care::little) code_.store(BPF_DW, 10, kContextSlot, 1);
  for (int slot = 0; slot < kNumberSlots; ++slot) {
    fill(0);
    code_.store(BPF_DW, 10, kFirstNumberSlot + 8 * slot, 0);
  }
  fill(0);
  code_.store(BPF_DW, 10, kKeySlot, 0);
  fill(1);
  if (function_ == 0) fill_from(2, 5);  // arguments of the others
  if (has_caller_stack()) {
    code_.store(BPF_DW, 10, kCallerSlot, 2);
    fill(2);
  }
  fill_from(6, numbers_ - 1);
}

// Everything goes into the result.
void RandomCode::end() {
  for (int from = 1; from < numbers_; ++from) code_.alu_imm(BPF_MUL, 0, 31).alu(BPF_XOR, 0, from);
  for (int slot = 0; slot < kNumberSlots; ++slot)
    code_.load(BPF_DW, 1, 10, kFirstNumberSlot + 8 * slot).alu_imm(BPF_MUL, 0, 31).alu(BPF_ADD, 0, 1);
  code_.exit();
}

void RandomCode::actions(int count) {
  for (int i = 0; i < count; ++i) action();
}

void RandomCode::action() {
  switch (below(27)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5: return arithmetic();
    case 6: return one_operand();
    case 7:
    case 8: return use_stack();
    case 9: return use_atomic(10, number_slot());
    case 10:
    case 11:
    case 12: return use_packet();
    case 13:
    case 14: return use_map();
    case 15: return use_single_value();
    case 16: return change_map();
    case 17:
    case 18: return jump_forward();
    case 19: return loop();
    case 20: return call_function();
    case 21: return call_program();
    case 22: return load_bytes();
    case 23:
    case 24: return use_caller_stack();
    case 25: return use_caller_context();
    default: return move_head();
  }
}

void RandomCode::arithmetic() {
  constexpr int kOperations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_MOD, BPF_OR,
                                 BPF_AND, BPF_XOR, BPF_MOV, BPF_LSH, BPF_RSH, BPF_ARSH};
  const int operation = kOperations[below(std::size(kOperations))], to = number(), from = number();
  const bool wide = one_in(2), shift = operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH;
  if (one_in(2)) {
    wide ? code_.alu(operation, to, from) : code_.alu32(operation, to, from);
    return;
  }
  int32_t value = short_number();
  if (shift) value = below(wide ? 64 : 32);
  if ((operation == BPF_DIV || operation == BPF_MOD) && value == 0) value = 3;
  wide ? code_.alu_imm(operation, to, value) : code_.alu32_imm(operation, to, value);
}

void RandomCode::one_operand() {
  constexpr int kBits[] = {16, 32, 64};
  switch (below(4)) {
    case 0: code_.raw(BPF_ALU64 | BPF_NEG, number(), 0, 0, 0); break;
    case 1: code_.raw(BPF_ALU | BPF_NEG, number(), 0, 0, 0); break;
    default: code_.swap(one_in(2) ? BPF_TO_BE : BPF_TO_LE, number(), kBits[below(3)]);
  }
}

void RandomCode::jump_forward() {
  constexpr int kConditions[] = {BPF_JEQ,  BPF_JNE,  BPF_JGT,  BPF_JGE,  BPF_JLT, BPF_JLE,
                                 BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE};
  const std::string over = new_label();
  const int condition = kConditions[below(std::size(kConditions))];
  switch (below(5)) {
    case 0: code_.jump(condition, number(), number(), over); break;
    case 1: code_.jump32(condition, number(), number(), over); break;
    case 2: code_.jump_imm(condition, number(), short_number(), over); break;
    default: code_.jump32_imm(condition, number(), short_number(), over);
  }
  nested(1 + below(3));
  code_.label(over);
}

void RandomCode::nested(int count) {
  if (nesting_ == std::size(kCounterSlots)) return arithmetic();
  ++nesting_;
  actions(count);
  --nesting_;
}

void RandomCode::loop() {
  if (nesting_ == std::size(kCounterSlots)) return arithmetic();
  const int slot = kCounterSlots[nesting_], first = number(), rounds = 1 + below(4);
  const std::string again = new_label(), out = new_label();
  const bool test_first = one_in(2);
  code_.mov_imm(first, rounds).store(BPF_DW, 10, slot, first).label(again);
  if (test_first) code_.load(BPF_DW, first, 10, slot).jump_imm(BPF_JEQ, first, 0, out);
  nested(1 + below(2));
  const int counter = number();
  code_.load(BPF_DW, counter, 10, slot).add_imm(counter, -1).store(BPF_DW, 10, slot, counter);
  if (test_first)
    code_.jump(again).label(out);
  else
    code_.jump_imm(BPF_JNE, counter, 0, again);
}

void RandomCode::call_function() {
  if (function_ == kFunctions) return arithmetic();
  const int callee = function_ + 1 + below(kFunctions - function_);
  called_[static_cast<size_t>(callee)] = true;
  context_to(1);
  if (has_caller_stack() && one_in(3))
    code_.load(BPF_DW, 2, 10, kCallerSlot);
  else if (keeps_context_in_register())
    code_.mov(2, 10);
  code_.call(name_of(callee));
  fill_from(1, 5);
}

void RandomCode::call_program() {
  if (function_ > 0 || index_ + 1 == programs_) return arithmetic();
  context_to(1);
  code_.map(2, kPrograms).mov_imm(3, index_ + 1 + below(programs_ - index_)).call(BPF_FUNC_tail_call);
  fill_from(0, 5);
}

}  // namespace trama::ebpf
