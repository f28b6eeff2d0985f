// trama stages: the catalogue of stages, made from what they declare.
#include <cstdio>

#include "control/terminal.hpp"
#include "control/verbs.hpp"
#include "engine/registry.hpp"
#include "engine/suggest.hpp"

namespace trama {
namespace {

std::string input_of(const StageKind& kind) {
  return kind.source ? "-" : kind.any_type ? "any" : std::string(kind.input->name);
}

std::string output_of(const StageKind& kind) {
  if (kind.sink) return "-";
  return kind.any_type ? "the same" : std::string(kind.output->name);
}

const char* word(Parallelism parallelism) { return parallelism == Parallelism::serial ? "serial" : "replicated"; }

const char* word(Ordering ordering) {
  switch (ordering) {
    case Ordering::preserves: return "preserves";
    case Ordering::needs: return "needs";
    case Ordering::restores: return "restores";
  }
  return "";
}

int print_catalogue() {
  Table table({{"kind"}, {"takes"}, {"makes"}, {"parallelism"}, {"order"}, {"what it does"}});
  for (const StageKind& kind : Registry::instance().kinds())
    table.add({std::string(kind.info.kind), input_of(kind), output_of(kind), word(kind.info.parallelism),
               kind.source ? "-" : word(kind.info.ordering), std::string(kind.info.summary)});
  std::fputs(table.text().c_str(), stdout);
  return kDone;
}

int print_stage(const StageKind& kind) {
  std::string text = std::string(kind.info.kind) + ": " + std::string(kind.info.summary) + "\n\n";
  text += "takes        " + input_of(kind) + "\nmakes        " + output_of(kind) + "\n";
  text += "parallelism  " + std::string(word(kind.info.parallelism)) + "\n";
  if (!kind.source) text += "order        " + std::string(word(kind.info.ordering)) + "\n";
  if (kind.info.holds > 0) text += "holds        " + counted(kind.info.holds, "message") + "\n";
  if (kind.info.may_lose > 0) text += "may lose     beyond " + counted(kind.info.may_lose, "message") + "\n";
  if (kind.parameters.empty()) {
    text += "\nno parameters\n";
  } else {
    Table table({{"parameter"}, {"type"}, {"standard"}, {"what it is"}});
    for (const ParameterHelp& parameter : kind.parameters)
      table.add(
          {parameter.name, parameter.type, parameter.standard.empty() ? "-" : parameter.standard, parameter.help});
    text += "\n" + table.text();
  }
  std::fputs(text.c_str(), stdout);
  return kDone;
}

}  // namespace

int stages_verb(const Arguments& arguments) {
  std::vector<std::string> words;
  CommandLine line("stages [KIND]", "Lists the stages a graph can be made of, or the parameters of one.",
                   "  trama stages\n"
                   "  trama stages anonymize\n");
  line.words(words, "KIND", 0, 1);
  if (const auto ended = line.ends(arguments)) return *ended;
  if (words.empty()) return print_catalogue();
  const Registry& registry = Registry::instance();
  if (const StageKind* kind = registry.find(words[0])) return print_stage(*kind);
  std::vector<std::string> kinds;
  for (const StageKind& kind : registry.kinds()) kinds.emplace_back(kind.info.kind);
  print_error("there is no stage `" + words[0] + "`", suggestion(words[0], "there are", kinds));
  return kMisused;
}

}  // namespace trama
