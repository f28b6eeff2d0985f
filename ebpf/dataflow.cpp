#include "ebpf/dataflow.hpp"

#include <algorithm>
#include <utility>

#include "ebpf/instruction.hpp"
#include "ebpf/scalar_bounds.hpp"

namespace trama::ebpf {
namespace {

constexpr uint32_t kWidenAfter = 8;       // visits of a block
constexpr uint64_t kMaxSteps = 1u << 20;  // instructions looked at
constexpr uint32_t kMaxBlocks = 1u << 14;

bool has_values(const MapSpec& spec) {
  switch (spec.type) {
    case BPF_MAP_TYPE_PROG_ARRAY:
    case BPF_MAP_TYPE_XSKMAP:
    case BPF_MAP_TYPE_RINGBUF:
    case BPF_MAP_TYPE_PERF_EVENT_ARRAY: return false;
    default: return true;
  }
}

bool per_cpu(const MapSpec& spec) {
  return spec.type == BPF_MAP_TYPE_PERCPU_ARRAY || spec.type == BPF_MAP_TYPE_PERCPU_HASH ||
         spec.type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

}  // namespace

Dataflow::Dataflow(const Object& object, const Program& program, const ProgramShape& shape)
    : object_(object),
      code_(program.code),
      shape_(shape),
      states_(code_.size()),
      visits_(code_.size()),
      effects_(shape.functions.size()),
      call_blocks_(shape.functions.size()) {
  for (size_t map = 0; map < object.maps.size(); ++map) {
    const MapSpec& spec = object.maps[map];
    if (!has_values(spec) || spec.section == Section::rodata) continue;
    (per_cpu(spec) ? own_maps_ : shared_maps_) |= uint64_t{1} << map;
  }
}

Expected<void> Dataflow::run(Facts& facts) {
  State start;
  start.registers[1] = Register::pointer(Base::context);
  start.registers[10] = Register::pointer(Base::stack);
  push(0, start);
  if (!solve())
    return ebpf::refuse("the program has too many ways through it to be analyzed", "split it, and use tail calls");

  facts_ = &facts;
  for (uint32_t block = 0; block < code_.size() && !refusal_; ++block)
    if (states_[block]) walk(block);
  if (refusal_) return tl::unexpected(std::move(*refusal_));
  if (loose_reads_)
    for (FunctionFacts& function : facts.functions) function.zero_stack = true;
  return {};
}

bool Dataflow::solve() {
  uint32_t blocks = 0;
  while (!work_.empty()) {
    // Lowest first, so that a join waits for the ways that lead forward to it.
    const uint32_t block = *work_.begin();
    work_.erase(work_.begin());
    if (visits_[block] == 0 && ++blocks > kMaxBlocks) return false;
    walk(block);
    if (steps_ > kMaxSteps) return false;
  }
  return true;
}

void Dataflow::walk(uint32_t block) {
  function_ = shape_.function_of[block];
  block_ = block;
  ++visits_[block];
  const Effect before = effect();
  State state = *states_[block];
  for (uint32_t at = block; !refusal_;) {
    ++steps_;
    if (facts_) facts_->instructions[at].reached = true;
    if (step(at, state) == Next::elsewhere) break;
    at += code_[at].code == kWideLoad ? 2 : 1;
    if (!shape_.leader[at]) continue;
    push(at, state);
    break;
  }
  // Callers learn what became known of this function, and of those that it calls.
  if (!facts_ && !(effect() == before)) work_.insert(call_blocks_[function_].begin(), call_blocks_[function_].end());
}

void Dataflow::push(uint32_t block, const State& state) {
  if (facts_) return;
  std::unique_ptr<State>& known = states_[block];
  bool changed = true;
  if (!known) {
    known = std::make_unique<State>(state);
  } else if (shape_.edges_in[block] < 2) {
    changed = !(*known == state);
    *known = state;
  } else {
    changed = join_into(*known, state, block, visits_[block] > kWidenAfter);
  }
  if (changed) work_.insert(block);
}

void Dataflow::refuse(uint32_t at, std::string text, std::string hint) {
  // Only what is known at the end counts.
  if (!facts_ || refusal_) return;
  refusal_ = refuse_at(at, std::move(text), std::move(hint)).value();
}

// Before the last pass the register is taken for anything, so that only the first cause is reported.
bool Dataflow::read(uint32_t at, State& state, uint32_t number) {
  if (state.registers[number].base != Base::unset) return true;
  refuse(at, "r" + std::to_string(number) + " may be read before it is written",
         "initialize the variable where it is declared");
  state.registers[number] = Register::unknown();
  return !refusal_;
}

Dataflow::Next Dataflow::step(uint32_t at, State& state) {
  const bpf_insn& instruction = code_[at];
  switch (class_of(instruction)) {
    case BPF_ALU:
    case BPF_ALU64: step_alu(at, state); return Next::following;
    case BPF_LD: step_wide_load(at, state); return Next::following;
    case BPF_LDX: step_load(at, state); return Next::following;
    case BPF_ST: step_store(at, state); return Next::following;
    case BPF_STX:
      if (is_atomic(instruction))
        step_atomic(at, state);
      else
        step_store(at, state);
      return Next::following;
    default: break;
  }
  if (is_helper_call(instruction)) {
    step_helper_call(at, state);
    return Next::following;
  }
  if (is_exit(instruction))
    step_exit(at, state);
  else if (is_call(instruction))
    step_function_call(at, state);
  else
    step_branch(at, state);
  return Next::elsewhere;
}

void Dataflow::step_alu(uint32_t at, State& state) {
  const bpf_insn& instruction = code_[at];
  const uint8_t operation = operation_of(instruction);
  const bool wide = class_of(instruction) == BPF_ALU64, from_register = takes_register(instruction);
  const bool one_operand = operation == BPF_END || operation == BPF_NEG;
  if (operation != BPF_MOV && !read(at, state, instruction.dst_reg)) return;
  if (from_register && !one_operand && !read(at, state, instruction.src_reg)) return;
  Register& to = state.registers[instruction.dst_reg];
  const uint64_t immediate = wide ? immediate_64(instruction) : static_cast<uint32_t>(instruction.imm);
  const Register from =
      from_register && !one_operand ? state.registers[instruction.src_reg] : Register::constant(immediate);
  if (operation == BPF_MOV) {
    to = wide ? from : bound_of(instruction, Register::scalar(), from);
    if (!wide) to.origins = from.origins;
    return;
  }
  if (to.base == Base::context || to.base == Base::map)
    return refuse(at, std::string("arithmetic on ") + (to.base == Base::map ? "a map" : "the context"));
  const bool sum = wide && (operation == BPF_ADD || operation == BPF_SUB);
  if (sum && add_to_pointer(at, state)) return;
  to = bound_of(instruction, to, from);
}

// True when one of the operands was, or may have been, a pointer, and the result is known or given up.
bool Dataflow::add_to_pointer(uint32_t at, State& state) {
  const bpf_insn& instruction = code_[at];
  const bool adds = operation_of(instruction) == BPF_ADD;
  Register& to = state.registers[instruction.dst_reg];
  const Register a = to;
  const Register b = takes_register(instruction) ? state.registers[instruction.src_reg]
                                                 : Register::constant(immediate_64(instruction));
  const uint64_t origins = a.origins | b.origins;
  if (a.base == Base::scalar && b.base == Base::scalar) return false;
  if (!adds && b.base != Base::scalar) {  // the distance of two pointers
    to = Register::scalar(kAnyNumber, origins);
    return true;
  }
  const bool swapped = a.base == Base::scalar;
  Register pointer = swapped ? b : a;
  const Register& number = swapped ? a : b;
  pointer.origins = origins;
  to = Register::either(a, b);
  if (number.base != Base::scalar) return true;
  switch (pointer.base) {
    case Base::packet:
    case Base::stack:
    case Base::value:
    case Base::event: break;
    case Base::outer_stack: to = pointer; return true;
    default: return true;
  }
  if (number.exact) {
    const auto moved = static_cast<int64_t>(number.most);
    if (moved > kMaxOffset || moved < -kMaxOffset) return true;
    const int64_t offset = pointer.offset + (adds ? moved : -moved);
    if (offset > kMaxOffset || offset < -kMaxOffset) return true;
    pointer.offset = static_cast<int32_t>(offset);
    to = pointer;
  } else if (adds && pointer.base == Base::packet) {
    constexpr uint64_t kMostBytes = 0xffff;  // farther isn't worth a proof: no packet is longer
    if (pointer.offset < 0 || number.most > kMostBytes) return true;
    new_packet_pointer(at, state);
    to.origins = origins;
  } else if (adds && number.most + pointer.most <= static_cast<uint64_t>(kMaxOffset) &&
             number.most <= static_cast<uint64_t>(kMaxOffset)) {
    pointer.most += number.most;
    to = pointer;
  }
  return true;
}

// A pointer into the packet at an unknown distance: nothing is known of it but that it isn't before the start.
void Dataflow::new_packet_pointer(uint32_t at, State& state) {
  const auto id = static_cast<int32_t>(at + 1);
  state.forget_packet_id(id);
  state.registers[code_[at].dst_reg] = Register::pointer(Base::packet, id);
}

void Dataflow::step_wide_load(uint32_t at, State& state) {
  const bpf_insn& instruction = code_[at];
  Register& to = state.registers[instruction.dst_reg];
  switch (instruction.src_reg) {
    case BPF_PSEUDO_MAP_IDX: to = Register::pointer(Base::map, instruction.imm); break;
    case BPF_PSEUDO_MAP_IDX_VALUE: to = Register::pointer(Base::value, instruction.imm, code_[at + 1].imm); break;
    default: to = Register::constant(wide_constant(instruction, code_[at + 1]));
  }
}

}  // namespace trama::ebpf
