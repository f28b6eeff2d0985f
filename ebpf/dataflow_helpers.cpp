// Calls of helpers in the verifier's dataflow.
#include <algorithm>
#include <utility>

#include "ebpf/dataflow.hpp"
#include "ebpf/instruction.hpp"
#include "ebpf/map_types.hpp"

namespace trama::ebpf {
namespace {

// The type a helper needs; BPF_MAP_TYPE_UNSPEC: any with values.
uint32_t type_for(int32_t helper) {
  switch (helper) {
    case BPF_FUNC_tail_call: return BPF_MAP_TYPE_PROG_ARRAY;
    case BPF_FUNC_redirect_map: return BPF_MAP_TYPE_XSKMAP;
    case BPF_FUNC_perf_event_output: return BPF_MAP_TYPE_PERF_EVENT_ARRAY;
    case BPF_FUNC_ringbuf_output:
    case BPF_FUNC_ringbuf_reserve:
    case BPF_FUNC_ringbuf_query: return BPF_MAP_TYPE_RINGBUF;
    default: return BPF_MAP_TYPE_UNSPEC;
  }
}

std::string name_of_register(uint32_t number) { return "r" + std::to_string(number); }

}  // namespace

void Dataflow::check_map(uint32_t at, const HelperInfo& helper, const Register& map) {
  if (map.base != Base::map) return;
  const MapSpec& spec = object_.maps[static_cast<size_t>(map.id)];
  const uint32_t needed = type_for(helper.id);
  const bool fits = needed == BPF_MAP_TYPE_UNSPEC
                        ? ((own_maps_ | shared_maps_) >> map.id & 1) != 0 || spec.section == Section::rodata
                        : spec.type == needed;
  const char* const type = map_type_name(spec.type);
  if (!fits)
    return refuse(at, std::string(helper.name) + " can't work on map " + spec.name + ", which is of type " +
                          (type ? type : "unknown"));
  if (!helper.changes_map) return;
  if (spec.type == BPF_MAP_TYPE_LPM_TRIE)
    return refuse(at, "programs can't change the prefixes of an LPM trie (" + spec.name + ")",
                  "writing to the values that a lookup returns is possible");
  if (spec.section == Section::rodata || (spec.flags & BPF_F_RDONLY_PROG) != 0)
    refuse(at, "map " + spec.name + " is read-only for programs");
}

// The first four bytes of what is accessed, when they are known; else -1.
int64_t Dataflow::number_on_stack(const State& state, const Access& access) {
  constexpr int64_t kStackBytes = kFrameBytes;
  if (access.base.base != Base::stack || access.spread != 0 || access.bytes < sizeof(uint32_t)) return -1;
  uint32_t number = 0;
  for (int64_t byte = 0; byte < static_cast<int64_t>(sizeof number); ++byte) {
    const int64_t place = kStackBytes + access.low + byte;
    const auto known =
        place >= 0 && place < kStackBytes ? state.known_byte(static_cast<uint64_t>(place)) : std::nullopt;
    if (!known) return -1;
    number |= uint32_t{*known} << 8 * byte;
  }
  return number;
}

void Dataflow::check_pointed(uint32_t at, Argument kind, uint32_t number, uint64_t bytes, State& state) {
  const Register base = state.registers[number];
  const Access access{base, base.offset, base.most, bytes};
  switch (base.base) {
    case Base::scalar:
    case Base::context:
    case Base::packet_end:
    case Base::map: return refuse(at, name_of_register(number) + " must point to memory");
    default: break;
  }
  const bool writes = kind == Argument::memory_write;
  check_access_kind(at, access, writes);
  note_stack_use(access);
  if (writes) {
    note_write(access, Register::unknown(), false);
    // How much is written, if anything, is seen at run time; so is where, if that isn't proven.
    const bool elsewhere = base.base != Base::stack && !proven(access);
    if (base.base == Base::stack || elsewhere) state.forget_slot_contents();
    effect().clobbers |= elsewhere;
    return;
  }
  note_stack_read(state, access);
  note_read(access);
  if (base.base == Base::stack)
    for (const Slot& slot : state.slots) decide(slot.content);
  if ((base.base == Base::value || base.base == Base::value_or_null) && (own_maps_ >> base.id & 1) != 0)
    properties().deciding_maps |= uint64_t{1} << base.id;
  if (!facts_) return;
  InstructionFacts& fact = facts_->instructions[at];
  if (kind == Argument::key) {
    fact.key_proven = proven(access);
    fact.key_number = number_on_stack(state, access);
  }
  if (kind == Argument::value) fact.value_proven = proven(access);
}

void Dataflow::check_argument(uint32_t at, const HelperInfo& helper, uint32_t number, State& state) {
  const Argument kind = helper.arguments[number - 1];
  if (kind == Argument::none || !read(at, state, number)) return;
  const Register argument = state.registers[number];
  const bool unknown = argument.base == Base::unknown;
  const Register& map = state.registers[1];
  const MapSpec* const spec = map.base == Base::map ? &object_.maps[static_cast<size_t>(map.id)] : nullptr;
  decide(argument);
  switch (kind) {
    case Argument::context:
      if (argument.base != Base::context && !unknown)
        refuse(at, name_of_register(number) + " must be the context (struct xdp_md)");
      break;
    case Argument::map:
      if (argument.base != Base::map && !unknown) refuse(at, name_of_register(number) + " must be a map");
      check_map(at, helper, argument);
      if (facts_ && argument.base == Base::map) facts_->instructions[at].map = argument.id;
      break;
    case Argument::key:
      if (spec) check_pointed(at, kind, number, spec->key_size, state);
      break;
    case Argument::value:
      if (spec) check_pointed(at, kind, number, spec->value_size, state);
      break;
    case Argument::memory_read:
    case Argument::memory_write: {
      const Register& size = state.registers[number + 1];
      constexpr uint64_t kMostBytes = 1u << 16;  // what is larger is unbounded, and would be refused as such
      if (size.base == Base::unset) break;
      if (size.base != Base::scalar || size.most > kMostBytes)
        refuse(at, name_of_register(number + 1) + ", a size, has no bound",
               "compare it with a constant, or mask it, before the call");
      else
        check_pointed(at, kind, number, size.most, state);
      break;
    }
    case Argument::constant:
      if (argument.base != Base::scalar || !argument.exact)
        refuse(at, name_of_register(number) + " must be a constant");
      break;
    case Argument::event:
      if (argument.base != Base::event && !unknown)
        refuse(at, name_of_register(number) + " must be a record from bpf_ringbuf_reserve that was tested for null");
      break;
    default: break;
  }
}

void Dataflow::note_helper(const HelperInfo& helper, const State& state) {
  Properties& found = properties();
  found.uses_time |= helper.uses_time;
  found.uses_random |= helper.uses_random;
  found.uses_cpu |= helper.uses_cpu;
  found.emits_events |= helper.emits_events;
  found.moves_packet |= helper.moves_packet;
  found.redirects |= helper.redirects;
  const auto place = std::lower_bound(found.helpers.begin(), found.helpers.end(), helper.id);
  if (place == found.helpers.end() || *place != helper.id) found.helpers.insert(place, helper.id);
  if (!helper.changes_map) return;
  const Register& map = state.registers[1];
  if (map.base != Base::map) {
    found.changes_keys = true;
    return;
  }
  switch (object_.maps[static_cast<size_t>(map.id)].type) {
    case BPF_MAP_TYPE_ARRAY: found.written_maps |= uint64_t{1} << map.id; break;
    case BPF_MAP_TYPE_PERCPU_ARRAY: found.own_written_maps |= uint64_t{1} << map.id; break;
    default: found.changes_keys = true;
  }
}

Register Dataflow::result_of(uint32_t at, const HelperInfo& helper, State& state) {
  const auto twin = static_cast<int32_t>(at + 1);
  Register result;
  switch (helper.returns) {
    case Returns::nothing: return result;
    case Returns::scalar: return Register::scalar();
    case Returns::value_or_null:
      if (state.registers[1].base != Base::map) return Register::unknown();
      result = Register::pointer(Base::value_or_null, state.registers[1].id);
      break;
    case Returns::event_or_null:
      if (!state.registers[2].exact || state.registers[2].most > kEventBytes) return Register::unknown();
      result = Register::pointer(Base::event_or_null, static_cast<int32_t>(state.registers[2].most));
      break;
  }
  state.forget_twin(twin);
  result.twin = twin;
  return result;
}

void Dataflow::step_helper_call(uint32_t at, State& state) {
  const HelperInfo& helper = *find_helper(code_[at].imm);
  for (uint32_t number = 1; number <= helper.arguments.size(); ++number) check_argument(at, helper, number, state);
  note_helper(helper, state);
  const Register result = result_of(at, helper, state);
  for (uint32_t number = 1; number <= 5; ++number) state.registers[number] = {};
  state.registers[0] = result;
  if (helper.moves_packet) {
    state.forget_packet();
    effect().moves_packet = true;
  }
  if (helper.arguments[0] == Argument::event)  // no record of which we know that it is still open
    state.for_all([](Register& one) {
      if (one.base == Base::event) one = Register::unknown();
    });
  if (helper.id != BPF_FUNC_tail_call) return;
  // The program called returns to whoever called this function.
  properties().tail_calls = true;
  effect().moves_packet = true;
  effect().clobbers = true;
  returns(Register::unknown(own_maps_));
}

}  // namespace trama::ebpf
