#include "ebpf/liveness.hpp"

#include "ebpf/helpers.hpp"
#include "ebpf/instruction.hpp"

namespace trama::ebpf {
namespace {

using Registers = uint32_t;  // bit i: ri

constexpr Registers register_bit(uint32_t number) { return 1u << number; }
constexpr Registers kArguments =
    register_bit(1) | register_bit(2) | register_bit(3) | register_bit(4) | register_bit(5);

// Backwards: what is read from here on, from what is read behind the instruction. Rounds over the whole program, until
// loops add nothing more.
class Flow {
 public:
  Flow(const std::vector<bpf_insn>& code, const Facts& facts) : code_(code), facts_(facts), before_(code.size() + 1) {}

  // False: not within a few rounds.
  bool solve() {
    constexpr int kMostRounds = 32;
    for (int round = 0; round < kMostRounds; ++round)
      if (!changes()) return true;
    return false;
  }

  Registers before(uint32_t at) const { return before_[at]; }
  bool needless(uint32_t at) const {
    return facts_.instructions[at].reached && only_computes(at) && (behind(at) & register_bit(code_[at].dst_reg)) == 0;
  }

 private:
  bool changes() {
    bool changed = false;
    for (auto at = static_cast<uint32_t>(code_.size()); at-- > 0;) {
      if (!facts_.instructions[at].reached) continue;
      const Registers read = needless(at) ? behind(at) : read_before(at);
      changed |= read != before_[at];
      before_[at] = read;
    }
    return changed;
  }

  bool only_computes(uint32_t at) const {
    const uint8_t kind = class_of(code_[at]);
    return kind == BPF_ALU || kind == BPF_ALU64 || kind == BPF_LD;
  }

  Registers behind(uint32_t at) const {
    const bpf_insn& instruction = code_[at];
    if (is_exit(instruction)) return register_bit(0);
    const Registers next = before_[at + (instruction.code == kWideLoad ? 2 : 1)];
    if (!is_jump(instruction)) return next;
    const Registers target = before_[static_cast<size_t>(int64_t{at} + 1 + instruction.off)];
    return is_plain_jump(instruction) ? target : target | next;
  }

  static Registers source_of(const bpf_insn& instruction) {
    return takes_register(instruction) ? register_bit(instruction.src_reg) : 0;
  }

  Registers read_before(uint32_t at) const {
    const bpf_insn& instruction = code_[at];
    const Registers after = behind(at), to = register_bit(instruction.dst_reg);
    switch (class_of(instruction)) {
      case BPF_LD: return after & ~to;
      case BPF_LDX: {
        const bool from_context = facts_.instructions[at].context_field >= 0;
        return (after & ~to) | (from_context ? 0 : register_bit(instruction.src_reg));
      }
      case BPF_ST: return after | to;
      case BPF_STX:
        return after | to | register_bit(instruction.src_reg) | (is_atomic(instruction) ? register_bit(0) : 0);
      case BPF_ALU:
      case BPF_ALU64: return read_by_alu(instruction, after, to);
      default: break;
    }
    if (is_call(instruction)) return (after & ~(kArguments | register_bit(0))) | read_by_call(instruction);
    if (is_exit(instruction) || is_plain_jump(instruction)) return after;
    return after | to | source_of(instruction);
  }

  static Registers read_by_alu(const bpf_insn& instruction, Registers after, Registers to) {
    const uint8_t operation = operation_of(instruction);
    if (operation == BPF_MOV) return (after & ~to) | source_of(instruction);
    if (operation == BPF_NEG || operation == BPF_END) return after;  // the register itself, which is read behind it
    return after | source_of(instruction);
  }

  static Registers read_by_call(const bpf_insn& instruction) {
    const HelperInfo* const helper = is_helper_call(instruction) ? find_helper(instruction.imm) : nullptr;
    if (!helper) return kArguments;
    Registers read = 0;
    for (uint32_t i = 0; i < helper->arguments.size(); ++i)
      if (helper->arguments[i] != Argument::none) read |= register_bit(i + 1);
    return read;
  }

  const std::vector<bpf_insn>& code_;
  const Facts& facts_;
  std::vector<Registers> before_;
};

}  // namespace

Liveness find_needless(const std::vector<bpf_insn>& code, const Facts& facts) {
  Liveness found;
  found.needless.resize(code.size());
  Flow flow(code, facts);
  if (!flow.solve()) return found;
  for (uint32_t at = 0; at < code.size(); ++at) found.needless[at] = flow.needless(at);
  found.context = (flow.before(0) & register_bit(1)) != 0;
  return found;
}

}  // namespace trama::ebpf
