// trama filter check: what a module needs and does, as far as can be said without running it. trama filter disasm: its
// instructions.
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "control/data_output.hpp"
#include "control/filter.hpp"
#include "control/terminal.hpp"
#include "ebpf/declaration.hpp"
#include "ebpf/disassemble.hpp"
#include "ebpf/filter_module.hpp"
#include "ebpf/helpers.hpp"
#include "ebpf/jit.hpp"
#include "ebpf/kernel_program.hpp"
#include "ebpf/loader.hpp"
#include "ebpf/map_types.hpp"
#include "ebpf/verifier.hpp"

namespace trama {
namespace {

std::string helper_name(int32_t id) {
  const char* const name = ebpf::kernel_helper_name(id);
  return name ? name : "helper " + std::to_string(id);
}

void line(std::string& text, const char* label, const std::string& value) {
  char padded[32];
  std::snprintf(padded, sizeof padded, "  %-14s", label);
  text += padded + value + "\n";
}

std::string meaning(ebpf::Meaning meaning, bool declared) {
  return std::string(name_of(meaning)) + (declared ? "" : " (not declared)");
}

void describe_program(const ebpf::Program& program, const ebpf::Facts& facts, const ebpf::Meanings& meanings,
                      std::string& text) {
  uint32_t stack = 0;
  for (const ebpf::FunctionFacts& function : facts.functions) stack = std::max(stack, function.stack_bytes);
  line(text, "program",
       printable(program.name) + ": " + counted(program.code.size(), "instruction") + ", " +
           counted(facts.functions.size(), "function") + ", " + std::to_string(stack) + " bytes of stack");
  line(text, "  accesses",
       std::to_string(facts.accesses - facts.unproven) + " of " + std::to_string(facts.accesses) + " proven" +
           (facts.unproven > 0 ? ", the others are checked when it runs" : ""));
  const ebpf::Properties& does = facts.properties;
  line(text, "  packets",
       does.moves_packet    ? "moves their start; works on a copy"
       : does.writes_packet ? "writes into them; works on a copy"
                            : "reads them only");
  const std::string why = does.why_serial();
  line(text, "  replicas", why.empty() ? "any number, with the same results" : "one: it " + why);
  if (does.redirects && meanings.redirect == ebpf::Meaning::refused)
    line(text, "  redirects", "refused, unless the module declares, or the stage says, what that means");
  std::string helpers;
  for (const int32_t id : does.helpers) helpers += (helpers.empty() ? "" : ", ") + helper_name(id);
  line(text, "  helpers", helpers.empty() ? "none" : helpers);
}

// Whether a live source may have the kernel run it, as far as can be said without asking the kernel.
std::string kernel_text(const ebpf::Object& object, const ebpf::Program& program) {
  const auto module = ebpf::FilterModule::make(object, {.program = program.name, .engine = ebpf::Engine::interpreter});
  const auto fits = module ? ebpf::check_fit_for_kernel(**module) : tl::unexpected(module.error());
  if (fits) return "fits; the kernel's own verifier has the last word";
  return "no: " + printable(ebpf::describe(fits.error()));
}

// Of an object whose programs are all accepted.
std::string engine_text(const ebpf::Object& object) {
  const auto analysis = ebpf::analyze(object);
  const auto maps = ebpf::Maps::create(object, 1);
  if (!analysis || !maps) return "nothing";
  const auto jit = ebpf::Jit::compile(object, *analysis, **maps);
  if (!jit) return "interpreted: " + printable(ebpf::describe(jit.error()));
  return "machine code for " + std::string(ebpf::Jit::processor()) + ", " + counted((*jit)->code_bytes(), "byte");
}

std::string maps_text(const ebpf::Object& object) {
  Table table({{"map"}, {"type"}, {"key bytes", true}, {"value bytes", true}, {"entries", true}});
  for (const ebpf::MapSpec& map : object.maps) {
    const char* const type = ebpf::map_type_name(map.type);
    table.add({printable(map.name), type ? type : std::to_string(map.type), std::to_string(map.key_size),
               std::to_string(map.value_size), std::to_string(map.max_entries)});
  }
  return object.maps.empty() ? "" : "\n" + table.text();
}

}  // namespace

int filter_check(const Arguments& arguments) {
  std::vector<std::string> words;
  CommandLine command("filter check OBJECT.bpf.o",
                      "Says what a module needs and what its verdicts mean, or what is refused, where and why.",
                      "  trama filter check privacy_ranges.bpf.o\n");
  command.words(words, "OBJECT.bpf.o", 1, 1);
  if (const auto ended = command.ends(arguments)) return *ended;
  const auto object = ebpf::load_object(words[0]);
  if (!object) return print(object.error()), kMisused;
  const auto meanings = ebpf::declared_meanings(*object);
  if (!meanings) return print(meanings.error()), kMisused;
  // Each program by itself, so that every refusal is said.
  bool good = true;
  std::string text = printable(words[0]) + "\n";
  line(text, "XDP_DROP", meaning(meanings->drop, meanings->declared));
  line(text, "XDP_TX", meaning(meanings->tx, meanings->declared));
  line(text, "XDP_REDIRECT", meaning(meanings->redirect, meanings->declared));
  for (uint32_t program = 0; program < object->programs.size(); ++program) {
    const auto facts = ebpf::analyze(*object, program);
    if (facts) {
      describe_program(object->programs[program], *facts, *meanings, text);
      line(text, "  kernel", kernel_text(*object, object->programs[program]));
      continue;
    }
    print(facts.error());
    good = false;
  }
  if (good) line(text, "runs as", engine_text(*object));
  for (const std::string& other : object->other_programs) line(text, "left alone", printable(other));
  DataOutput output;
  output.write(text + maps_text(*object));
  if (!output.finish()) return kFailed;
  return good ? kDone : kMisused;
}

int filter_disassemble(const Arguments& arguments) {
  std::vector<std::string> words;
  CommandLine command("filter disasm OBJECT.bpf.o", "Prints the linked instructions of every program, with its source.",
                      "  trama filter disasm privacy_ranges.bpf.o\n");
  command.words(words, "OBJECT.bpf.o", 1, 1);
  if (const auto ended = command.ends(arguments)) return *ended;
  const auto object = ebpf::load_object(words[0]);
  if (!object) return print(object.error()), kMisused;
  DataOutput output;
  for (const ebpf::Program& program : object->programs) {
    std::istringstream lines(ebpf::disassemble(*object, program));
    for (std::string line; std::getline(lines, line);) output.write(printable(line) + "\n");
    output.write("\n");
  }
  return output.finish() ? kDone : kFailed;
}

}  // namespace trama
