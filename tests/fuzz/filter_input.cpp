// Functions, and records that are one instruction.
#include "tests/fuzz/filter_input.hpp"

#include <algorithm>
#include <iterator>

#include "ebpf/atomic_operation.hpp"
#include "ebpf/instruction.hpp"
#include "tests/fuzz/filter_maps.hpp"

namespace trama::ebpf {
namespace {

constexpr size_t kMostInstructions = 256;  // of a function
constexpr int kMove = BPF_ALU64 | BPF_MOV;

int bytes_of(int code) {
  bpf_insn one{};
  one.code = static_cast<uint8_t>(code);
  return static_cast<int>(access_bytes(one));
}

}  // namespace

std::vector<bpf_insn> FilterInput::program() {
  code_.clear();
  calls_.clear();
  functions_ = {};
  functions_[0].called = true;
  functions_[0].arguments[0].kind = Kind::context;
  for (function_ = 0; function_ < kFunctions; ++function_)
    if (functions_[function_].called) add_function();
  for (const auto& [instruction, function] : calls_)
    code_[instruction].imm = static_cast<int32_t>(functions_[function].entry) - static_cast<int32_t>(instruction) - 1;
  return code_;
}

bool FilterInput::next_record() {
  constexpr uint8_t kFirstEnd = 250;
  if (bytes_.size() < kRecordBytes) return false;
  std::copy_n(bytes_.begin(), kRecordBytes, record_.begin());
  bytes_ = bytes_.subspan(kRecordBytes);
  return record_[0] < kFirstEnd;
}

void FilterInput::add_function() {
  Function& function = functions_[function_];
  function.entry = code_.size();
  records_.clear();
  jumps_.clear();
  add_beginning(function);
  while (code_.size() - function.entry < kMostInstructions && next_record()) {
    records_.push_back(code_.size());
    add_record();
  }
  const size_t end = code_.size();
  if (registers_[0].kind == Kind::unset) add_number(0, XDP_PASS);
  add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
  resolve_jumps(end);
}

// r6: the first argument; r7, r8: the packet and its end if that is the context; r9: the second argument; r2: a key on
// the stack; the others numbers.
void FilterInput::add_beginning(const Function& function) {
  registers_ = {};
  slots_ = {};
  registers_[1] = function.arguments[0];
  registers_[2] = function.arguments[1];
  registers_[kFrame] = {Kind::stack, 0, 0};
  copy(kKeptContext, 1);
  if (registers_[2].kind == Kind::unset)
    add_number(9, 27);
  else
    copy(9, 2);
  if (registers_[1].kind == Kind::context) {
    add(BPF_LDX | BPF_MEM | BPF_W, 7, 1, offsetof(xdp_md, data), 0);
    add(BPF_LDX | BPF_MEM | BPF_W, 8, 1, offsetof(xdp_md, data_end), 0);
    registers_[7].kind = Kind::packet;
    registers_[8].kind = Kind::packet_end;
  } else {
    add_numbers(7, 8);
  }
  add(BPF_ST | BPF_MEM | BPF_DW, kFrame, 0, -8, 32);
  add_numbers(0, 5);
  add_frame_address(2, -8);
}

void FilterInput::resolve_jumps(size_t end) {
  for (const Jump& jump : jumps_) {
    size_t to = end;
    if (jump.record < static_cast<int>(records_.size())) to = records_[static_cast<size_t>(std::max(jump.record, 0))];
    code_[jump.instruction].off = static_cast<int16_t>(static_cast<int>(to) - static_cast<int>(jump.instruction) - 1);
  }
}

void FilterInput::add(int code, int to, int from, int offset, int32_t immediate) {
  code_.push_back({static_cast<uint8_t>(code), static_cast<uint8_t>(to & 15), static_cast<uint8_t>(from & 15),
                   static_cast<int16_t>(offset), immediate});
}

// Mostly a few records forward, now and then back.
void FilterInput::add_jump(int code, int to, int from, int32_t immediate, uint8_t choice) {
  const int ahead = choice < 208 ? choice % 16 + 1 : -(choice % 8);
  jumps_.push_back({code_.size(), static_cast<int>(records_.size()) - 1 + ahead});
  add(code, to, from, 0, immediate);
}

void FilterInput::add_number(int to, int32_t number) {
  add(kMove | BPF_K, to, 0, 0, number);
  registers_[static_cast<size_t>(to)] = {Kind::number, 0, 0};
}

void FilterInput::add_numbers(int first, int last) {
  for (int to = first; to <= last; ++to) add_number(to, 3 * to);
}

void FilterInput::copy(int to, int from) {
  add(kMove | BPF_X, to, from, 0, 0);
  registers_[static_cast<size_t>(to)] = registers_[static_cast<size_t>(from)];
}

void FilterInput::add_frame_address(int to, int offset) {
  copy(to, kFrame);
  add(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, offset);
  registers_[static_cast<size_t>(to)].offset = offset;
}

void FilterInput::add_arithmetic(int code) {
  constexpr int32_t kBits[] = {16, 32, 64};
  const int operation = code & 0xf0;
  const bool from_register = (code & BPF_X) != 0, wide = (code & 7) == BPF_ALU64;
  const int to = target(record_[1]);
  Guess& guess = registers_[static_cast<size_t>(to)];
  if (operation != BPF_MOV && guess.kind == Kind::unset) add_number(to, constant());
  if (operation == BPF_END || operation == BPF_NEG) {
    add(code, to, 0, 0, operation == BPF_END ? kBits[record_[3] % 3] : 0);
  } else if (operation == BPF_MOV && from_register && wide) {
    return copy(to, any_set(record_[2]));
  } else {
    const bool any = operation == BPF_MOV || record_[5] % 8 == 7;
    const int from = !from_register ? 0 : any ? any_set(record_[2]) : number(record_[2]);
    add(code, to, from, 0, from_register ? 0 : constant());
    if (wide && !from_register && guess.kind != Kind::number && (operation == BPF_ADD || operation == BPF_SUB)) {
      guess.offset += operation == BPF_ADD ? constant() % 4096 : -(constant() % 4096);
      return;
    }
  }
  guess = {Kind::number, 0, 0};
}

void FilterInput::add_branch(int code) {
  const bool plain = code == (BPF_JMP | BPF_JA), from_register = (code & BPF_X) != 0;
  const int to = plain ? 0 : record_[5] % 4 == 0 ? any_set(record_[1]) : number(record_[1]);
  const int from = plain || !from_register ? 0 : to == 0 ? any_set(record_[3]) : number(record_[3]);
  add_jump(code, to, from, plain || from_register ? 0 : constant(), record_[2]);
}

void FilterInput::add_memory(int code) {
  const bool loads = (code & 7) == BPF_LDX, atomic = (code & 7) == BPF_STX && (code & 0xe0) == BPF_ATOMIC;
  const bool from_register = (code & 7) == BPF_STX;
  int base =
      holding({Kind::packet, Kind::stack, Kind::outer, Kind::value, Kind::event, Kind::unknown}, record_[1], kFrame);
  if (loads && record_[1] > 240) base = kKeptContext;
  if (atomic && registers_[static_cast<size_t>(base)].kind == Kind::packet) base = kFrame;
  const Guess guess = registers_[static_cast<size_t>(base)];
  if (guess.kind == Kind::value && guess.map == kConstants && !loads) base = kFrame;
  if (guess.kind == Kind::context && record_[5] % 16 != 15) code = BPF_LDX | BPF_MEM | BPF_W;
  const int bytes = bytes_of(code), offset = place(registers_[static_cast<size_t>(base)], bytes);
  if (loads) {
    const int to = target(record_[3]);
    add(code, to, base, offset, 0);
    registers_[static_cast<size_t>(to)] = loaded(base, offset, bytes);
    return;
  }
  int from = from_register ? any_set(record_[3]) : 0;
  // Kept on the function's own stack, the context is where others may find it.
  if (from_register && !atomic && guess.kind == Kind::stack && record_[3] % 8 == 0) from = kKeptContext;
  if (atomic && from != number(record_[3])) from = number(record_[3]);
  const int32_t operation = kAtomicOperations[record_[4] % std::size(kAtomicOperations)];
  add(code, base, from, offset, atomic ? operation : from_register ? 0 : constant());
  if (atomic || !from_register) return stored(base, offset, atomic ? 1 : bytes, 0);
  stored(base, offset, bytes, from);
}

void FilterInput::add_wide_load() {
  const int to = target(record_[1]);
  const uint8_t choice = record_[3];
  Guess guess{Kind::number, 0, 0};
  if (choice % 4 == 0) {
    const auto high = record_[2] % 4 == 0 ? static_cast<int32_t>(kContextTag >> 32) : int32_t{record_[2]};
    add(kWideLoad, to, 0, 0, record_[5] % 2 == 0 ? record_[4] : constant());
    add(0, 0, 0, 0, high);
  } else {
    const int32_t map = choice % 8 < 4 ? kSingle : kConstants;
    guess = {Kind::value, choice / 8 % kValueBytes[map], map};
    add(kWideLoad, to, BPF_PSEUDO_MAP_IDX_VALUE, 0, map);
    add(0, 0, 0, 0, guess.offset);
  }
  registers_[static_cast<size_t>(to)] = guess;
}

// Any code, registers and offset; what belongs to a wide load may be missing.
void FilterInput::add_raw() {
  const int registers = record_[5] % 16 == 15 ? 16 : kRegisters;
  const int offset = record_[3] | record_[5] % 2 * 0xff00;
  add(record_[1], record_[2] % 16 % registers, record_[2] / 16 % registers, offset, static_cast<int8_t>(record_[4]));
  if (record_[1] == kWideLoad && record_[5] % 4 < 2) add(0, 0, 0, 0, record_[5]);
}

void FilterInput::add_exit() {
  if (registers_[0].kind == Kind::unset) add_number(0, XDP_DROP);
  add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

}  // namespace trama::ebpf
