// Bytes as programs that the verifier is likely to take: of each instruction six bytes choose a known code, registers
// that exist, a near offset and a short number; what an instruction doesn't use is 0. Some codes stand for a few
// instructions that seldom meet by chance: a lookup, a test of the packet's end, a call. Whether jumps lead somewhere,
// registers were written and pointers point is left to the verifier.
#pragma once
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ebpf/helpers.hpp"
#include "ebpf/instruction.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

constexpr int32_t kArray = 0, kOwnArray = 1, kLpm = 2, kPrograms = 3, kRing = 4, kSingle = 5, kConstants = 6;

inline std::vector<MapSpec> fuzz_maps() {
  const auto spec = [](const char* name, uint32_t type, uint32_t key, uint32_t value, uint32_t entries) {
    MapSpec made;
    made.name = name;
    made.type = type;
    made.key_size = key;
    made.value_size = value;
    made.max_entries = entries;
    return made;
  };
  std::vector<MapSpec> maps = {
      spec("array", BPF_MAP_TYPE_ARRAY, 4, 20, 4),       spec("own_array", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 16, 3),
      spec("prefixes", BPF_MAP_TYPE_LPM_TRIE, 8, 8, 16), spec("programs", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4),
      spec("ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096),    spec("single", BPF_MAP_TYPE_ARRAY, 4, 40, 1),
      spec(".rodata", BPF_MAP_TYPE_ARRAY, 4, 24, 1)};
  maps[kPrograms].program_slots = {0, 1, 7};
  maps[kConstants].section = Section::rodata;
  return maps;
}

class FilterInput {
 public:
  explicit FilterInput(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t first = bytes_[0];
    bytes_ = bytes_.subspan(1);
    return first;
  }
  size_t left() const { return bytes_.size(); }

  // A program and, if it calls one, a function, each of about so many instructions.
  std::vector<bpf_insn> program(size_t most) {
    code_.clear();
    calls_.clear();
    add_function(most);
    if (calls_.empty()) return code_;
    const size_t function = code_.size();
    add_function(most);
    for (const size_t call : calls_) code_[call].imm = static_cast<int32_t>(function) - static_cast<int32_t>(call) - 1;
    return code_;
  }

 private:
  static bpf_insn made(int code, int to, int from, int offset, int32_t immediate) {
    return {static_cast<uint8_t>(code), static_cast<uint8_t>(to & 15), static_cast<uint8_t>(from & 15),
            static_cast<int16_t>(offset), immediate};
  }

  static constexpr int kMove = BPF_ALU64 | BPF_MOV;

  void add(int code, int to, int from, int offset, int32_t immediate) {
    code_.push_back(made(code, to, from, offset, immediate));
  }
  void add_numbers(int first, int last) {
    for (int to = first; to <= last; ++to) add(kMove | BPF_K, to, 0, 0, 3 * to);
  }

  void add_function(size_t most) {
    const size_t first = code_.size();
    add_beginning();
    while (left() >= 6 && code_.size() - first < most) add_instruction();
    add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
  }

  // r6: the context; r7, r8: the packet and its end; r2: a key on the stack; the others numbers.
  void add_beginning() {
    add(kMove | BPF_X, 6, 1, 0, 0);
    add(BPF_LDX | BPF_MEM | BPF_W, 7, 1, 0, 0);
    add(BPF_LDX | BPF_MEM | BPF_W, 8, 1, 4, 0);
    add(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 32);
    add_numbers(1, 5);
    add(kMove | BPF_X, 2, 10, 0, 0);
    add(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -8);
    add_numbers(9, 9);
    add_numbers(0, 0);
  }

  static std::vector<uint8_t> known_codes() {
    std::vector<uint8_t> codes;
    for (const int operation :
         {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_MOD, BPF_OR, BPF_AND, BPF_XOR, BPF_MOV, BPF_LSH, BPF_RSH, BPF_ARSH})
      for (const int form : {BPF_ALU64 | BPF_X, BPF_ALU64 | BPF_K, BPF_ALU | BPF_X, BPF_ALU | BPF_K})
        codes.push_back(static_cast<uint8_t>(operation | form));
    for (const int condition :
         {BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE})
      for (const int form : {BPF_JMP | BPF_X, BPF_JMP | BPF_K, BPF_JMP32 | BPF_X, BPF_JMP32 | BPF_K})
        codes.push_back(static_cast<uint8_t>(condition | form));
    for (const int size : {BPF_B, BPF_H, BPF_W, BPF_DW})
      for (const int access : {BPF_LDX | BPF_MEM, BPF_STX | BPF_MEM, BPF_ST | BPF_MEM})
        for (int often = 0; often < 3; ++often) codes.push_back(static_cast<uint8_t>(access | size));
    for (const int code : {BPF_ALU64 | BPF_NEG, BPF_ALU | BPF_NEG, BPF_ALU | BPF_END | BPF_TO_BE,
                           BPF_ALU | BPF_END | BPF_TO_LE, BPF_STX | BPF_ATOMIC | BPF_W, BPF_STX | BPF_ATOMIC | BPF_DW,
                           BPF_LD | BPF_IMM | BPF_DW, BPF_LD | BPF_IMM | BPF_DW, BPF_JMP | BPF_JA, BPF_JMP | BPF_EXIT,
                           BPF_JMP | BPF_CALL, BPF_JMP | BPF_CALL, BPF_JMP | BPF_CALL})
      codes.push_back(static_cast<uint8_t>(code));
    return codes;
  }

  void add_instruction() {
    static const std::vector<uint8_t> kCodes = known_codes();
    constexpr size_t kPhrases = 20;
    std::array<uint8_t, 6> bytes;
    for (uint8_t& one : bytes) one = byte();
    const size_t choice = bytes[0] % (kCodes.size() + kPhrases);
    if (choice >= kCodes.size()) return add_phrase(choice - kCodes.size(), bytes);
    bpf_insn next = made(kCodes[choice], bytes[1] % 11, bytes[1] / 16 % 11, static_cast<int8_t>(bytes[2]), 0);
    const auto number = static_cast<int16_t>(bytes[3] | bytes[4] << 8);
    next.imm = static_cast<int32_t>(static_cast<uint32_t>(int32_t{number}) << bytes[5] % 17);
    switch (class_of(next)) {
      case BPF_ALU:
      case BPF_ALU64: arithmetic(next, bytes[3]); break;
      case BPF_LD: return wide_load(next, bytes[3], bytes[4]);
      case BPF_LDX: next.imm = 0; break;
      case BPF_ST: next.src_reg = 0; break;
      case BPF_STX: store(next, bytes[3]); break;
      default: jump(next, bytes[3]);
    }
    code_.push_back(next);
    if (is_helper_call(next) && bytes[5] % 4 != 0) add_numbers(1, 5);
  }

  using Choices = std::array<uint8_t, 6>;

  void add_phrase(size_t phrase, const Choices& bytes) {
    const int offset = static_cast<int8_t>(bytes[2]);
    switch (phrase % 5) {
      case 0:
      case 1: return add_lookup(bytes, offset);
      case 2:  // as far as this does the packet reach
        add(kMove | BPF_X, 3, 7, 0, 0);
        add(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, bytes[3] % 64);
        return add(BPF_JMP | BPF_JGT | BPF_X, 3, 8, offset, 0);
      case 3:
        add(kMove | BPF_X, 1, 6, 0, 0);
        calls_.push_back(code_.size());
        add(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0);
        return add_numbers(1, 5);
      default:
        add(kMove | BPF_X, 1, 6, 0, 0);
        add(kWideLoad, 2, BPF_PSEUDO_MAP_IDX, 0, kPrograms);
        add(0, 0, 0, 0, 0);
        add(kMove | BPF_K, 3, 0, 0, bytes[3] % 4);
        add(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_tail_call);
        return add_numbers(0, 5);
    }
  }

  void add_lookup(const Choices& bytes, int offset) {
    constexpr int kKeySlot = -16;
    const int32_t map = bytes[3] % 3;
    add(BPF_ST | BPF_MEM | BPF_W, 10, 0, kKeySlot, map == kLpm ? bytes[4] % 34 : bytes[4] % 6);
    if (map == kLpm) add(BPF_ST | BPF_MEM | BPF_W, 10, 0, kKeySlot + 4, bytes[1]);
    // Compilers take the key first: then machine code has it all for one.
    const bool map_first = bytes[5] % 4 == 0;
    const auto name_map = [&] {
      add(kWideLoad, 1, BPF_PSEUDO_MAP_IDX, 0, map);
      add(0, 0, 0, 0, 0);
    };
    if (map_first) name_map();
    add(kMove | BPF_X, 2, 10, 0, 0);
    add(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, kKeySlot);
    if (!map_first) name_map();
    add(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem);
    const bool tested = bytes[5] % 8 != 0, at_once = bytes[5] % 16 > 8;
    if (tested && at_once) add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, offset, 0);
    add_numbers(1, 5);
    if (tested && !at_once) add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, offset, 0);
  }

  static void arithmetic(bpf_insn& next, uint8_t choice) {
    constexpr int32_t kBits[] = {16, 32, 64};
    next.off = 0;
    if (operation_of(next) == BPF_END) next.imm = kBits[choice % 3];
    if (operation_of(next) == BPF_NEG) next.imm = 0;
    if (operation_of(next) == BPF_END || operation_of(next) == BPF_NEG || !takes_register(next))
      next.src_reg = 0;
    else
      next.imm = 0;
  }

  void wide_load(bpf_insn& next, uint8_t kind, uint8_t choice) {
    next.off = 0;
    next.src_reg = static_cast<uint8_t>(kind % 3 == 0   ? 0
                                        : kind % 3 == 1 ? BPF_PSEUDO_MAP_IDX
                                                        : BPF_PSEUDO_MAP_IDX_VALUE);
    int32_t second = 0;
    if (next.src_reg == BPF_PSEUDO_MAP_IDX) next.imm = choice % 7;
    if (next.src_reg == BPF_PSEUDO_MAP_IDX_VALUE) {
      next.imm = choice % 2 == 0 ? kSingle : kConstants;
      second = choice / 2 % 24;
    }
    code_.push_back(next);
    add(0, 0, 0, 0, second);
  }

  static void store(bpf_insn& next, uint8_t choice) {
    constexpr int32_t kOperations[] = {BPF_ADD,
                                       BPF_OR,
                                       BPF_AND,
                                       BPF_XOR,
                                       BPF_ADD | BPF_FETCH,
                                       BPF_OR | BPF_FETCH,
                                       BPF_AND | BPF_FETCH,
                                       BPF_XOR | BPF_FETCH,
                                       BPF_XCHG,
                                       BPF_CMPXCHG};
    next.imm = is_atomic(next) ? kOperations[choice % std::size(kOperations)] : 0;
  }

  static void jump(bpf_insn& next, uint8_t choice) {
    if (is_exit(next) || is_plain_jump(next)) next.dst_reg = 0, next.src_reg = 0, next.imm = 0;
    if (is_exit(next)) next.off = 0;
    if (is_call(next)) {
      const bool function = choice % 4 == 0;
      next.src_reg = function ? BPF_PSEUDO_CALL : 0;
      next.imm = function ? next.off : all_helpers()[choice / 4 % all_helpers().size()].id;
      next.dst_reg = 0;
      next.off = 0;
    } else if (!is_exit(next) && !is_plain_jump(next)) {
      takes_register(next) ? next.imm = 0 : next.src_reg = 0;
    }
  }

  std::span<const uint8_t> bytes_;
  std::vector<bpf_insn> code_;
  std::vector<size_t> calls_;
};

}  // namespace trama::ebpf
