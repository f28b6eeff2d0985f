// What records stand for, and those that are more than one instruction.
#include <algorithm>
#include <vector>

#include "ebpf/instruction.hpp"
#include "tests/fuzz/filter_input.hpp"
#include "tests/fuzz/filter_maps.hpp"

namespace trama::ebpf {
namespace {

enum class What : uint8_t {
  arithmetic,
  branch,
  memory,
  wide_load,
  exit,
  raw,
  lookup,
  packet_test,
  call,
  helper_call,
  tail_call,
  reserve,
  stack_pointer,
  bounded_step
};

struct Entry {
  What what;
  uint8_t code = 0;
};

std::vector<Entry> all_entries() {
  std::vector<Entry> all;
  const auto add = [&all](What what, int code, int times = 1) {
    for (int i = 0; i < times; ++i) all.push_back({what, static_cast<uint8_t>(code)});
  };
  for (const int operation :
       {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_MOD, BPF_OR, BPF_AND, BPF_XOR, BPF_MOV, BPF_LSH, BPF_RSH, BPF_ARSH})
    for (const int form : {BPF_ALU64 | BPF_X, BPF_ALU64 | BPF_K, BPF_ALU | BPF_X, BPF_ALU | BPF_K})
      add(What::arithmetic, operation | form);
  for (const int code :
       {BPF_ALU64 | BPF_NEG, BPF_ALU | BPF_NEG, BPF_ALU | BPF_END | BPF_TO_BE, BPF_ALU | BPF_END | BPF_TO_LE})
    add(What::arithmetic, code);
  for (const int condition :
       {BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE})
    for (const int form : {BPF_JMP | BPF_X, BPF_JMP | BPF_K, BPF_JMP32 | BPF_X, BPF_JMP32 | BPF_K})
      add(What::branch, condition | form);
  add(What::branch, BPF_JMP | BPF_JA, 2);
  for (const int size : {BPF_B, BPF_H, BPF_W, BPF_DW})
    for (const int access : {BPF_LDX | BPF_MEM, BPF_STX | BPF_MEM, BPF_ST | BPF_MEM})
      add(What::memory, access | size, size == BPF_DW ? 10 : 5);
  for (const int size : {BPF_W, BPF_DW}) add(What::memory, BPF_STX | BPF_ATOMIC | size, 3);
  add(What::wide_load, 0, 5);
  add(What::exit, 0);
  add(What::raw, 0, 2);
  add(What::lookup, 0, 10);
  add(What::packet_test, 0, 8);
  add(What::call, 0, 8);
  add(What::helper_call, 0, 8);
  add(What::tail_call, 0, 2);
  add(What::reserve, 0, 3);
  add(What::stack_pointer, 0, 4);
  add(What::bounded_step, 0, 8);
  return all;
}

int32_t map_for(const HelperInfo& helper, uint8_t choice) {
  constexpr int32_t kWithValues[] = {kArray, kOwnArray, kSingle, kLpm, kConstants};
  switch (helper.id) {
    case BPF_FUNC_tail_call: return kPrograms;
    case BPF_FUNC_redirect_map: return kSockets;
    case BPF_FUNC_perf_event_output: return kEvents;
    case BPF_FUNC_ringbuf_output:
    case BPF_FUNC_ringbuf_reserve:
    case BPF_FUNC_ringbuf_query: return kRing;
    // Of an LPM trie and of constants nothing can be changed.
    default: return kWithValues[choice % (helper.changes_map ? 3 : std::size(kWithValues))];
  }
}

}  // namespace

void FilterInput::add_record() {
  static const std::vector<Entry> kEntries = all_entries();
  const Entry entry = kEntries[record_[0] % kEntries.size()];
  switch (entry.what) {
    case What::arithmetic: return add_arithmetic(entry.code);
    case What::branch: return add_branch(entry.code);
    case What::memory: return add_memory(entry.code);
    case What::wide_load: return add_wide_load();
    case What::exit: return add_exit();
    case What::raw: return add_raw();
    case What::lookup: return add_lookup();
    case What::packet_test: return add_packet_test();
    case What::call: return add_call();
    case What::helper_call: return add_helper_call();
    case What::tail_call: return add_tail_call();
    case What::reserve: return add_reserve();
    case What::stack_pointer:
      return add_frame_address(target(record_[1]), -8 * (record_[2] % (record_[3] % 4 == 0 ? 65 : 9)));
    case What::bounded_step: return add_bounded_step();
  }
}

void FilterInput::add_map(int to, int32_t map) {
  add(kWideLoad, to, BPF_PSEUDO_MAP_IDX, 0, map);
  add(0, 0, 0, 0, 0);
}

// Machine code must not rely on what is in them; one call in sixteen leaves them so for what follows to be refused.
void FilterInput::forget_arguments() {
  for (size_t number = 1; number <= 5; ++number) registers_[number] = {};
  if (record_[5] % 16 != 0) add_numbers(1, 5);
}

void FilterInput::add_key(int32_t map) {
  add(BPF_ST | BPF_MEM | BPF_W, kFrame, 0, kKeySlot, map == kLpm ? record_[4] % 34 : record_[4] % 6);
  if (map == kLpm) add(BPF_ST | BPF_MEM | BPF_W, kFrame, 0, kKeySlot + 4, record_[1]);
  slots_[slot_at(kKeySlot)] = {Kind::number, 0, 0};
}

void FilterInput::add_lookup() {
  constexpr int32_t kLookedUp[] = {kArray, kOwnArray, kLpm, kSingle};
  const int32_t map = kLookedUp[record_[3] % std::size(kLookedUp)];
  add_key(map);
  // Compilers take the key first: then machine code has it all for one.
  const bool map_first = record_[5] % 4 == 0;
  if (map_first) add_map(1, map);
  add_frame_address(2, kKeySlot);
  if (!map_first) add_map(1, map);
  add(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem);
  const bool tested = record_[5] % 16 != 1, at_once = record_[5] % 32 >= 24;
  if (tested && at_once) add_jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, record_[2]);
  forget_arguments();
  if (tested && !at_once) add_jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, record_[2]);
  registers_[0] = {Kind::value, 0, map};
}

// As far as this does the packet reach.
void FilterInput::add_packet_test() {
  const int packet = holding({Kind::packet}, record_[1], 0), end = holding({Kind::packet_end}, 0, 0);
  if (packet == 0 || end == 0) return add_number(3, record_[3]);
  copy(3, packet);
  add(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, record_[3] % 64);
  add_jump(BPF_JMP | BPF_JGT | BPF_X, 3, end, 0, record_[2]);
}

// A number that can't be large, added to a pointer, and what is there.
void FilterInput::add_bounded_step() {
  const int base = holding({Kind::packet, Kind::stack, Kind::value, Kind::event}, record_[1], kFrame);
  const int step = holding({Kind::number}, record_[2], 0);
  constexpr int kForms[] = {BPF_ALU64 | BPF_K, BPF_ALU | BPF_K};
  const int form = kForms[record_[5] % 2];
  switch (record_[5] / 2 % 4) {
    case 0: add(BPF_AND | form, step, 0, 0, record_[3] % 64); break;
    case 1:
      add(BPF_RSH | form, step, 0, 0, form == (BPF_ALU | BPF_K) ? 24 + record_[3] % 8 : 32 + record_[3] % 32);
      break;
    case 2: add(BPF_MOD | form, step, 0, 0, 1 + record_[3] % 64); break;
    default: add_jump(BPF_JMP | BPF_JGT | BPF_K, step, 0, record_[3] % 64, 0);
  }
  const int to = base == kFrame || record_[5] % 16 < 8 ? 4 : base;
  if (to != base) copy(to, base);
  add(BPF_ALU64 | BPF_ADD | BPF_X, to, step, 0, 0);
  const Guess guess = registers_[static_cast<size_t>(to)];
  const int far = guess.kind == Kind::stack ? -64 - guess.offset : record_[4] % 8 - guess.offset;
  add(BPF_LDX | BPF_MEM | (record_[4] / 8 % 4) << 3, step, to, far, 0);
}

void FilterInput::add_call() {
  if (function_ + 1 == kFunctions) return add_arithmetic(BPF_ALU64 | BPF_ADD | BPF_K);
  const size_t callee = function_ + 1 + record_[1] % (kFunctions - function_ - 1);
  const auto give = [this](int to, uint8_t choice) {
    const int from = holding({Kind::packet, Kind::value, Kind::outer, Kind::event, Kind::number}, choice, kFrame);
    if (choice % 4 < 2)
      add_frame_address(to, -8 * (choice / 4 % 4));
    else
      copy(to, from);
  };
  record_[2] % 4 == 0 ? give(1, record_[3]) : copy(1, kKeptContext);
  give(2, record_[4]);
  Function& function = functions_[callee];
  if (!function.called) {
    function.called = true;
    function.outer = slots_;
    for (size_t i = 0; i < 2; ++i) {
      function.arguments[i] = registers_[i + 1];
      Guess& given = function.arguments[i];
      if (given.kind == Kind::stack) given.kind = Kind::outer;
    }
  }
  calls_.push_back({code_.size(), callee});
  add(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0);
  forget_arguments();
  registers_[0] = {Kind::number, 0, 0};
}

void FilterInput::add_tail_call() {
  if (registers_[kKeptContext].kind != Kind::context) return add_number(3, record_[3]);
  copy(1, kKeptContext);
  add_map(2, kPrograms);
  add_number(3, record_[3] % 4);
  add(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_tail_call);
  forget_arguments();
  add_number(0, 0);
}

void FilterInput::add_reserve() {
  add_map(1, kRing);
  add_number(2, 8 * (1 + record_[3] % 3));
  add_number(3, 0);
  add(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_reserve);
  forget_arguments();
  if (record_[5] % 16 != 1) add_jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, record_[2]);
  registers_[0] = {Kind::event, 0, 0};
  if (record_[4] % 2 == 0) copy(9, 0);
}

// --- helpers

bool FilterInput::has(const HelperInfo& helper) const {
  return std::none_of(helper.arguments.begin(), helper.arguments.end(), [this](Argument kind) {
    return (kind == Argument::context && registers_[kKeptContext].kind != Kind::context) ||
           (kind == Argument::event && holding({Kind::event}, 0, -1) < 0);
  });
}

void FilterInput::give(int number, Argument kind, int32_t map) {
  const uint8_t choice = record_[static_cast<size_t>(number)];
  switch (kind) {
    case Argument::none: return;
    case Argument::context: return copy(number, kKeptContext);
    case Argument::map: return add_map(number, map);
    case Argument::key: return add_frame_address(number, kKeySlot);
    case Argument::value:
    case Argument::memory_read:
    case Argument::memory_write: {
      // Not one of the arguments, which may have been given something else by now.
      const int from = holding({Kind::packet, Kind::value, Kind::outer, Kind::unknown}, choice, kFrame);
      if (from > 5 && from != kFrame && choice % 2 == 0) return copy(number, from);
      return add_frame_address(number, choice % 16 == 1 ? -8 * (choice % 65) : kMemorySlot);
    }
    case Argument::size: return add_number(number, choice % 41);
    case Argument::scalar: return add_number(number, static_cast<int8_t>(choice));
    case Argument::constant: return add_number(number, 8 * (choice % 8));
    case Argument::any: return choice % 2 == 0 ? copy(number, kFrame) : add_number(number, choice);
    case Argument::event: return copy(number, holding({Kind::event}, choice, 0));
  }
}

void FilterInput::add_helper_call() {
  const std::span<const HelperInfo> all = all_helpers();
  const HelperInfo& helper = all[record_[1] % all.size()];
  if (!has(helper)) return add_number(3, record_[3]);
  const int32_t map = map_for(helper, record_[2]);
  if (helper.arguments[1] == Argument::key) add_key(map);
  for (int number = 1; number <= 5; ++number) give(number, helper.arguments[static_cast<size_t>(number - 1)], map);
  add(BPF_JMP | BPF_CALL, 0, 0, 0, helper.id);
  registers_[0].kind = helper.returns == Returns::nothing ? Kind::unset : Kind::number;
  forget_arguments();
}

}  // namespace trama::ebpf
