// Lookups in maps: those of which the verifier knows map and key call the map's own function, or nothing at all.
#include "ebpf/helpers.hpp"
#include "ebpf/instruction.hpp"
#include "ebpf/instruction_groups.hpp"
#include "ebpf/jit_translator.hpp"

namespace trama::ebpf {
namespace {

constexpr uint8_t kResult = 0, kKey = 2, kFrame = 10;

}  // namespace

// The map of a lookup that needs no check by the helper, or null.
const Map* JitTranslator::map_for_lookup(uint32_t at) const {
  const InstructionFacts& fact = facts_->instructions[at];
  if (!is_lookup((*code_)[at]) || fact.map < 0 || !fact.key_proven) return nullptr;
  const Map& map = maps_[static_cast<uint32_t>(fact.map)];
  return map.lookup_function() && map.layout().key_size < kBytesOfAStep ? &map : nullptr;
}

// A wide load of the map for the lookup behind it, which has it as a constant. Nobody can read r1 after the call.
bool JitTranslator::only_names_map_for_lookup(uint32_t at) const {
  return is_lookup_in_map(*code_, at) && map_for_lookup(at + 2) != nullptr;
}

// What compilers make of bpf_map_lookup_elem(&map, &key), from the key's address on; or the call alone. Nothing may
// jump into the middle.
std::optional<JitTranslator::Lookup> JitTranslator::lookup_at(uint32_t at) const {
  const std::vector<bpf_insn>& code = *code_;
  Lookup found{nullptr, {}, 0, {}};
  uint32_t call = at;
  if (is_sum(at) && code[at].dst_reg == kKey && code[at].src_reg == kFrame) {
    const uint32_t names_map = at + 2;
    call = at + 4;
    if (!only_names_map_for_lookup(names_map) || jumped_to(names_map) || jumped_to(call)) return std::nullopt;
    found.key.in_frame = true;
    found.key.offset = code[at + 1].imm;
    if (!jumped_to(at)) found.key.next_number = stored_before(at, found.key.offset + 4);
  }
  found.map = map_for_lookup(call);
  if (!found.map) return std::nullopt;
  found.next = call + 1;
  if (const int64_t number = facts_->instructions[call].key_number; number >= 0)
    found.key.number = static_cast<uint32_t>(number);
  if (is_null_test(code, found.next) && !jumped_to(found.next)) {
    found.null = labels_[static_cast<size_t>(int64_t{found.next} + 1 + code[found.next].off)];
    ++found.next;
  }
  return found;
}

// The register of which the instruction in front of `at` stores four bytes to the frame, there.
std::optional<uint8_t> JitTranslator::stored_before(uint32_t at, int32_t offset) const {
  if (at == 0) return std::nullopt;
  const bpf_insn& store = (*code_)[at - 1];
  if (store.code != (BPF_STX | BPF_MEM | BPF_W) || store.dst_reg != kFrame || store.off != offset) return std::nullopt;
  return store.src_reg;
}

void JitTranslator::lookup(const Lookup& lookup) {
  const MapLayout& layout = lookup.map->layout();
  const bool array = layout.type == BPF_MAP_TYPE_ARRAY || layout.type == BPF_MAP_TYPE_PERCPU_ARRAY;
  if (array && lookup.key.number && *lookup.key.number < layout.max_entries)
    return target_.array_value(*lookup.map, *lookup.key.number);
  const Label done = target_.label();
  const Label& null = lookup.null.isValid() ? lookup.null : done;
  if (array)
    target_.lookup_array(*lookup.map, lookup.key, null);
  else if (layout.type != BPF_MAP_TYPE_LPM_TRIE || !look_up_prefix(lookup, null))
    look_up_by_call(lookup);
  target_.bind(done);
}

void JitTranslator::look_up_by_call(const Lookup& lookup) {
  if (lookup.key.in_frame) target_.add(kKey, kFrame, lookup.key.offset);
  target_.call_lookup(lookup.map->lookup_function(), lookup.map);
  if (lookup.null.isValid()) target_.jump_if(BPF_JEQ, true, kResult, JitOperand::of_immediate(0), lookup.null);
}

bool JitTranslator::look_up_prefix(const Lookup& lookup, const Label& null) {
  constexpr uint32_t kLeastKey = 4 + 2;  // the length, and what the root takes
  if (lookup.map->layout().key_size < kLeastKey) return false;
  const JitTarget::PrefixLookup prefix{lookup.map, lookup.key, null, target_.label(), target_.label(), target_.label()};
  if (!target_.lookup_prefix(prefix)) return false;
  const Label done = target_.label();
  target_.bind(done);
  seldom_.emplace_back([this, lookup, prefix, done] {
    target_.bind(prefix.below);
    target_.lookup_below(prefix);
    target_.bind(prefix.slowly);
    look_up_by_call(lookup);
    target_.jump(done);
  });
  return true;
}

}  // namespace trama::ebpf
