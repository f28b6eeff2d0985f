// trama filter: finds what is to be done with eBPF filter modules.
#include "control/filter.hpp"

#include <cstdio>
#include <utility>

#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "engine/suggest.hpp"

namespace trama {
namespace {

struct Part {
  const char* name;
  const char* takes;
  const char* summary;
  int (*run)(const Arguments&);
};

constexpr Part kParts[] = {
    {"check", "OBJECT.bpf.o", "what a module needs; what is refused, where and why", filter_check},
    {"run", "OBJECT.bpf.o -r FILE ...", "how a module judges a capture: verdicts, maps, time", filter_run},
    {"disasm", "OBJECT.bpf.o", "its instructions, beside the source", filter_disassemble},
    {"new", "NAME", "a module to begin with: source, headers, Makefile", filter_new},
};

std::string help() {
  std::string text =
      "usage: trama filter WHAT ...\n\n"
      "Filter modules are XDP programs (eBPF). `trama run --filter OBJECT.bpf.o` and the stage `xdp` run them on "
      "packets\n"
      "from any source; `kernel_filters` of the stage `af_packet` runs them in the kernel, on taps.\n\n";
  for (const Part& part : kParts) {
    char line[160];
    std::snprintf(line, sizeof line, "  %-8s%-28s%s\n", part.name, part.takes, part.summary);
    text += line;
  }
  return text + "\nexamples:\n  trama filter new mine && make -C mine\n  trama filter check mine/mine.bpf.o\n";
}

}  // namespace

void print(const ebpf::Refusal& refusal) {
  ebpf::Refusal without_hint = refusal;
  const std::string hint = std::exchange(without_hint.hint, "");
  print_error(printable(ebpf::describe(without_hint)), hint);
}

int filter_verb(const Arguments& arguments) {
  if (arguments.empty()) return std::fputs(help().c_str(), stderr), kMisused;
  const std::string& word = arguments[0];
  if (word == "--help" || word == "-h") return std::fputs(help().c_str(), stdout), kDone;
  std::vector<std::string> names;
  for (const Part& part : kParts) {
    if (word == part.name) return part.run({arguments.begin() + 1, arguments.end()});
    names.emplace_back(part.name);
  }
  print_error("unknown command `filter " + word + "`", suggestion(word, "there are", names));
  return kMisused;
}

}  // namespace trama
