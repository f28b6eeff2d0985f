// A tiny assembler for eBPF programs in tests.
//
//   const std::vector<bpf_insn> code = Assembler()
//       .load(BPF_W, 2, 1, offsetof(xdp_md, data))
//       .jump_imm(BPF_JEQ, 2, 0, "out")
//       .mov_imm(0, XDP_PASS).exit()
//       .label("out").mov_imm(0, XDP_DROP).exit()
//       .code();
//
// Registers are numbers. Names without _imm take a register as source. Sizes are BPF_B, BPF_H, BPF_W and BPF_DW.
#pragma once
#include <linux/bpf.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace trama::ebpf {

// Any instruction, however wrong.
inline bpf_insn instruction(int code, int destination, int source, int offset, int64_t immediate) {
  bpf_insn made{};
  made.code = static_cast<uint8_t>(code);
  made.dst_reg = static_cast<uint8_t>(destination & 15);
  made.src_reg = static_cast<uint8_t>(source & 15);
  made.off = static_cast<int16_t>(offset);
  made.imm = static_cast<int32_t>(immediate);
  return made;
}

class Assembler {
 public:
  Assembler& raw(int code, int destination, int source, int offset, int64_t immediate) {
    code_.push_back(instruction(code, destination, source, offset, immediate));
    return *this;
  }

  Assembler& alu(int operation, int to, int from) { return raw(BPF_ALU64 | operation | BPF_X, to, from, 0, 0); }
  Assembler& alu_imm(int operation, int to, int64_t value) {
    return raw(BPF_ALU64 | operation | BPF_K, to, 0, 0, value);
  }
  Assembler& alu32(int operation, int to, int from) { return raw(BPF_ALU | operation | BPF_X, to, from, 0, 0); }
  Assembler& alu32_imm(int operation, int to, int64_t value) {
    return raw(BPF_ALU | operation | BPF_K, to, 0, 0, value);
  }
  Assembler& swap(int direction, int to, int bits) { return raw(BPF_ALU | BPF_END | direction, to, 0, 0, bits); }
  Assembler& mov(int to, int from) { return alu(BPF_MOV, to, from); }
  Assembler& mov_imm(int to, int64_t value) { return alu_imm(BPF_MOV, to, value); }
  Assembler& add_imm(int to, int64_t value) { return alu_imm(BPF_ADD, to, value); }

  Assembler& wide(int to, uint64_t value) { return wide_pair(to, 0, value, value >> 32); }
  Assembler& map(int to, int index) { return wide_pair(to, BPF_PSEUDO_MAP_IDX, static_cast<uint64_t>(index), 0); }
  Assembler& map_value(int to, int index, int offset) {
    return wide_pair(to, BPF_PSEUDO_MAP_IDX_VALUE, static_cast<uint64_t>(index), static_cast<uint64_t>(offset));
  }

  Assembler& load(int size, int to, int base, int offset) { return raw(BPF_LDX | BPF_MEM | size, to, base, offset, 0); }
  Assembler& store(int size, int base, int offset, int from) {
    return raw(BPF_STX | BPF_MEM | size, base, from, offset, 0);
  }
  Assembler& store_imm(int size, int base, int offset, int64_t value) {
    return raw(BPF_ST | BPF_MEM | size, base, 0, offset, value);
  }
  Assembler& atomic(int size, int operation, int base, int offset, int from) {
    return raw(BPF_STX | BPF_ATOMIC | size, base, from, offset, operation);
  }

  Assembler& jump(const std::string& label) { return jump_to(BPF_JMP | BPF_JA, 0, 0, 0, label); }
  Assembler& jump(int condition, int a, int b, const std::string& label) {
    return jump_to(BPF_JMP | condition | BPF_X, a, b, 0, label);
  }
  Assembler& jump_imm(int condition, int a, int64_t value, const std::string& label) {
    return jump_to(BPF_JMP | condition | BPF_K, a, 0, value, label);
  }
  Assembler& jump32(int condition, int a, int b, const std::string& label) {
    return jump_to(BPF_JMP32 | condition | BPF_X, a, b, 0, label);
  }
  Assembler& jump32_imm(int condition, int a, int64_t value, const std::string& label) {
    return jump_to(BPF_JMP32 | condition | BPF_K, a, 0, value, label);
  }
  Assembler& call(int helper) { return raw(BPF_JMP | BPF_CALL, 0, 0, 0, helper); }
  Assembler& call(const std::string& label) { return jump_to(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, label); }
  Assembler& exit() { return raw(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }
  Assembler& label(const std::string& name) {
    labels_[name] = code_.size();
    return *this;
  }

  // r2 = r10 + offset, r1 = map, call bpf_map_lookup_elem, in the order of clang.
  Assembler& lookup(int map_index, int key_offset) {
    return mov(2, 10).add_imm(2, key_offset).map(1, map_index).call(BPF_FUNC_map_lookup_elem);
  }

  std::vector<bpf_insn> code() const {
    std::vector<bpf_insn> linked = code_;
    for (const auto& [at, name] : jumps_) {
      const auto target = labels_.find(name);
      if (target == labels_.end()) throw std::logic_error("no label " + name);
      const auto distance = static_cast<int64_t>(target->second) - static_cast<int64_t>(at) - 1;
      if (linked[at].code == (BPF_JMP | BPF_CALL))
        linked[at].imm = static_cast<int32_t>(distance);
      else
        linked[at].off = static_cast<int16_t>(distance);
    }
    return linked;
  }

 private:
  Assembler& wide_pair(int to, int source, uint64_t low, uint64_t high) {
    raw(BPF_LD | BPF_IMM | BPF_DW, to, source, 0, static_cast<int32_t>(low));
    return raw(0, 0, 0, 0, static_cast<int32_t>(high));
  }
  Assembler& jump_to(int code, int a, int b, int64_t immediate, const std::string& label) {
    jumps_.emplace_back(code_.size(), label);
    return raw(code, a, b, 0, immediate);
  }

  std::vector<bpf_insn> code_;
  std::map<std::string, size_t> labels_;
  std::vector<std::pair<size_t, std::string>> jumps_;
};

// Begins with the start of the packet in r6 and its end in r7.
inline Assembler with_packet() { return Assembler().load(BPF_W, 6, 1, 0).load(BPF_W, 7, 1, 4); }

}  // namespace trama::ebpf
