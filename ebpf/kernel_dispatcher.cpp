#include "ebpf/kernel_dispatcher.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "ebpf/instruction.hpp"

namespace trama::ebpf {
namespace {

// Registers by what the dispatcher keeps in them. r1 to r5 are lost in a call, r6 to r9 are a function's own.
constexpr uint8_t kResult = 0, kFirst = 1, kSecond = 2, kThird = 3, kKept = 6, kFrame = 10;

// Instructions, one call each.
class Code {
 public:
  uint32_t here() const { return static_cast<uint32_t>(list_.size()); }
  std::vector<bpf_insn> take() { return std::move(list_); }

  void append(std::span<const bpf_insn> code) { list_.insert(list_.end(), code.begin(), code.end()); }
  void move(uint8_t to, uint8_t from) { add(BPF_ALU64 | BPF_MOV | BPF_X, to, from); }
  // The low half; the upper one becomes zero.
  void move_32(uint8_t to, uint8_t from) { add(BPF_ALU | BPF_MOV | BPF_X, to, from); }
  void set(uint8_t to, int32_t value) { add(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
  void add_constant(uint8_t to, int32_t value) { add(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value); }
  void add_register(uint8_t to, uint8_t from) { add(BPF_ALU64 | BPF_ADD | BPF_X, to, from); }
  void shift_left(uint8_t to, int32_t bits) { add(BPF_ALU64 | BPF_LSH | BPF_K, to, 0, 0, bits); }
  void load_32(uint8_t to, uint8_t base, int16_t offset) { add(BPF_LDX | BPF_MEM | BPF_W, to, base, offset); }
  void load_64(uint8_t to, uint8_t base) { add(BPF_LDX | BPF_MEM | BPF_DW, to, base); }
  void store_32(uint8_t base, int16_t offset, uint8_t from) { add(BPF_STX | BPF_MEM | BPF_W, base, from, offset); }
  void store_64(uint8_t base, uint8_t from) { add(BPF_STX | BPF_MEM | BPF_DW, base, from); }
  void load_map(uint8_t to, int descriptor) {
    add(kWideLoad, to, BPF_PSEUDO_MAP_FD, 0, descriptor);
    add(0);
  }
  void helper(int32_t number) { add(BPF_JMP | BPF_CALL, 0, 0, 0, number); }
  void leave() { add(BPF_JMP | BPF_EXIT); }

  // Jumps over the next `skipped` instructions.
  void skip_if_equal(uint8_t left, int32_t right, size_t skipped) {
    add(BPF_JMP | BPF_JEQ | BPF_K, left, 0, static_cast<int16_t>(skipped), right);
  }
  void skip_unless_greater(uint8_t left, int32_t right, size_t skipped) {
    add(BPF_JMP | BPF_JLE | BPF_K, left, 0, static_cast<int16_t>(skipped), right);
  }

  // A call of a function whose place is not known yet.
  uint32_t call() {
    add(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL);
    return here() - 1;
  }
  void leads_to(uint32_t call, uint32_t function) {
    list_[call].imm = static_cast<int32_t>(function) - static_cast<int32_t>(call) - 1;
  }

 private:
  void add(uint8_t code, uint8_t to = 0, uint8_t from = 0, int16_t offset = 0, int32_t immediate = 0) {
    bpf_insn instruction{};
    instruction.code = code;
    instruction.dst_reg = to & 0x0f;
    instruction.src_reg = from & 0x0f;
    instruction.off = offset;
    instruction.imm = immediate;
    list_.push_back(instruction);
  }
  std::vector<bpf_insn> list_;
};

struct Calls {
  uint32_t module, count;
};

Calls judge(Code& code, const DispatchedModule& module, int32_t index) {
  Calls calls{};
  code.move(kFirst, kKept);
  calls.module = code.call();
  code.set(kFirst, index);
  code.move(kSecond, kResult);
  calls.count = code.call();
  constexpr size_t kDropLength = 2;
  auto left = static_cast<size_t>(std::count(module.goes_on.begin(), module.goes_on.end(), true));
  for (size_t verdict = 0; verdict < module.goes_on.size(); ++verdict)
    if (module.goes_on[verdict]) code.skip_if_equal(kResult, static_cast<int32_t>(verdict), --left + kDropLength);
  code.set(kResult, XDP_DROP);
  code.leave();
  return calls;
}

void let_pass(Code& code, int sockets) {
  if (sockets < 0) {
    code.set(kResult, XDP_PASS);
  } else {
    code.load_32(kSecond, kKept, offsetof(xdp_md, rx_queue_index));
    code.load_map(kFirst, sockets);
    code.set(kThird, XDP_PASS);  // where no socket is bound to this queue
    code.helper(BPF_FUNC_redirect_map);
  }
  code.leave();
}

void count(Code& code, int counters) {
  constexpr int16_t kIndexPlace = -4;
  code.move_32(kKept, kSecond);
  code.skip_unless_greater(kKept, XDP_REDIRECT, 1);
  code.set(kKept, kOtherVerdict);
  code.store_32(kFrame, kIndexPlace, kFirst);
  code.load_map(kFirst, counters);
  code.move(kSecond, kFrame);
  code.add_constant(kSecond, kIndexPlace);
  code.helper(BPF_FUNC_map_lookup_elem);
  constexpr size_t kAddLength = 6;
  code.skip_if_equal(kResult, 0, kAddLength);
  code.move(kFirst, kKept);
  code.shift_left(kFirst, 3);  // 8 bytes a counter
  code.add_register(kResult, kFirst);
  code.load_64(kFirst, kResult);
  code.add_constant(kFirst, 1);
  code.store_64(kResult, kFirst);
  code.move(kResult, kKept);
  code.leave();
}

}  // namespace

Dispatcher make_dispatcher(std::span<const DispatchedModule> modules, int counters, int sockets) {
  Code code;
  std::vector<Calls> calls;
  code.move(kKept, kFirst);
  for (const DispatchedModule& module : modules)
    calls.push_back(judge(code, module, static_cast<int32_t>(calls.size())));
  let_pass(code, sockets);
  if (modules.empty()) return {code.take(), 0, {}};

  const uint32_t count_start = code.here();
  count(code, counters);
  std::vector<uint32_t> starts;
  for (size_t module = 0; module < modules.size(); ++module) {
    starts.push_back(code.here());
    code.leads_to(calls[module].module, starts.back());
    code.leads_to(calls[module].count, count_start);
    code.append(modules[module].code);
  }
  return {code.take(), count_start, std::move(starts)};
}

}  // namespace trama::ebpf
