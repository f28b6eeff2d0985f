#include "ebpf/verifier.hpp"

#include <algorithm>
#include <utility>

#include "ebpf/dataflow.hpp"
#include "ebpf/helpers.hpp"
#include "ebpf/instruction.hpp"
#include "ebpf/program_shape.hpp"

namespace trama::ebpf {
namespace {

// Adds where in the source it is.
tl::unexpected<Refusal> placed(Refusal refusal, const Program& program) {
  refusal.program = program.name;
  const SourceLine* const line =
      refusal.instruction >= 0 ? program.line_of(static_cast<uint32_t>(refusal.instruction)) : nullptr;
  if (line) {
    refusal.source_file = line->file;
    refusal.source_line = line->line;
    refusal.source_text = line->text;
  }
  return tl::unexpected(std::move(refusal));
}

// The kernel's rules: frames count in steps of 32 bytes; 512 bytes along a chain of calls, and 256 above a subprogram
// that makes a tail call, since each tail call may find its frame as deep.
Expected<void> check_stack(const ProgramShape& shape, const Facts& facts) {
  constexpr uint32_t kStep = 32, kMostAboveTailCall = 256;
  const auto frame = [&facts](size_t function) {
    return std::max((facts.functions[function].stack_bytes + kStep - 1) / kStep, 1u) * kStep;
  };
  std::vector<uint32_t> above(shape.functions.size());
  for (uint32_t round = 0; round < kMaxFrames; ++round)
    for (size_t function = 0; function < shape.functions.size(); ++function)
      for (const uint32_t callee : shape.functions[function].callees)
        above[callee] = std::max(above[callee], above[function] + frame(function));
  for (size_t function = 0; function < shape.functions.size(); ++function) {
    const uint32_t entry = shape.functions[function].entry;
    if (above[function] + frame(function) > kFrameBytes)
      return refuse_at(entry, "this function and those that call it need " +
                                  std::to_string(above[function] + frame(function)) + " bytes of stack; 512 are there");
    if (function != 0 && shape.functions[function].tail_calls && above[function] >= kMostAboveTailCall)
      return refuse_at(entry,
                       "the functions that call this one, which makes a tail call, need 256 bytes of stack or more");
  }
  return {};
}

// Where it is that a program may look for bytes is known to the helper alone.
bool takes_memory(const HelperInfo& helper) {
  return std::any_of(helper.arguments.begin(), helper.arguments.end(), [](Argument argument) {
    return argument == Argument::memory_read || argument == Argument::memory_write;
  });
}

bool looks_anywhere_on_the_stack(const bpf_insn& instruction, const InstructionFacts& fact) {
  if (!fact.reached) return false;
  const HelperInfo* const helper = is_helper_call(instruction) ? find_helper(instruction.imm) : nullptr;
  const bool takes_key = helper && helper->arguments[1] == Argument::key;
  const bool takes_value = helper && helper->arguments[2] == Argument::value;
  if (helper && (takes_memory(*helper) || (takes_key && !fact.key_proven) || (takes_value && !fact.value_proven)))
    return true;
  const Region region = region_of(fact.base);
  return fact.base != Base::unset && !fact.proven && (region == Region::any || region == Region::stack);
}

}  // namespace

Expected<Facts> analyze(const Object& object, uint32_t index) {
  const Program& program = object.programs[index];
  auto shape = shape_of(object, program);
  if (!shape) return placed(std::move(shape.error()), program);
  Facts facts;
  facts.instructions.resize(program.code.size());
  facts.step_costs = step_costs(program.code);
  for (const FunctionShape& function : shape->functions) {
    facts.functions.push_back({function.entry, function.end, 0, false});
    facts.instructions[function.entry].function_entry = true;
  }
  for (uint32_t at = 0; at < program.code.size(); ++at) facts.instructions[at].jump_target = shape->jump_target[at];
  if (auto good = Dataflow(object, program, *shape).run(facts); !good) return placed(std::move(good.error()), program);
  if (auto good = check_stack(*shape, facts); !good) return placed(std::move(good.error()), program);
  return facts;
}

Expected<Analysis> analyze(const Object& object) {
  Analysis analysis;
  for (uint32_t program = 0; program < object.programs.size(); ++program) {
    auto facts = analyze(object, program);
    if (!facts) return tl::unexpected(std::move(facts.error()));
    analysis.properties.add(facts->properties);
    analysis.programs.push_back(std::move(*facts));
  }
  return analysis;
}

void Properties::add(const Properties& other) {
  writes_packet |= other.writes_packet;
  moves_packet |= other.moves_packet;
  redirects |= other.redirects;
  tail_calls |= other.tail_calls;
  emits_events |= other.emits_events;
  uses_time |= other.uses_time;
  uses_random |= other.uses_random;
  uses_cpu |= other.uses_cpu;
  changes_keys |= other.changes_keys;
  written_maps |= other.written_maps;
  counting_maps |= other.counting_maps;
  read_maps |= other.read_maps;
  own_written_maps |= other.own_written_maps;
  deciding_maps |= other.deciding_maps;
  std::vector<int32_t> all;
  std::set_union(helpers.begin(), helpers.end(), other.helpers.begin(), other.helpers.end(), std::back_inserter(all));
  helpers = std::move(all);
}

std::string Properties::why_serial() const {
  std::string reasons;
  const auto add_reason = [&reasons](bool holds, const char* reason) {
    if (holds) reasons += (reasons.empty() ? "" : ", ") + std::string(reason);
  };
  add_reason(uses_time, "uses the clock");
  add_reason(uses_random, "uses random numbers");
  add_reason(uses_cpu, "asks for the number of its processor");
  add_reason(shared_writes(), "writes shared maps");
  add_reason(reads_own_counters(), "decides by what it wrote to a map per CPU");
  add_reason(emits_events, "puts out events or traces");
  return reasons;
}

bool looks_anywhere_on_the_stack(const Object& object, const Analysis& analysis) {
  for (size_t program = 0; program < object.programs.size(); ++program) {
    const std::vector<bpf_insn>& code = object.programs[program].code;
    for (size_t at = 0; at < code.size(); ++at)
      if (looks_anywhere_on_the_stack(code[at], analysis.programs[program].instructions[at])) return true;
  }
  return false;
}

Region region_of(Base base) noexcept {
  switch (base) {
    case Base::packet:
    case Base::packet_or_null:
    case Base::packet_end:
    case Base::packet_meta: return Region::packet;
    case Base::stack:
    case Base::outer_stack: return Region::stack;
    case Base::value:
    case Base::value_or_null: return Region::value;
    case Base::event:
    case Base::event_or_null: return Region::event;
    default: return Region::any;
  }
}

const char* name_of(Base base) noexcept {
  constexpr const char* kNames[] = {"unset",          "unknown",       "number",      "context",       "packet",
                                    "packet or null", "packet end",    "packet meta", "stack",         "outer stack",
                                    "value",          "value or null", "event",       "event or null", "map"};
  return kNames[static_cast<size_t>(base)];
}

}  // namespace trama::ebpf
