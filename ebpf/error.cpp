#include "ebpf/error.hpp"

namespace trama::ebpf {

std::string describe(const Refusal& refusal) {
  std::string place;
  const auto add = [&place](const std::string& part) { place += (place.empty() ? "" : ", ") + part; };
  if (refusal.entry >= 0) add("entry " + std::to_string(refusal.entry + 1));
  if (!refusal.program.empty()) add("program " + refusal.program);
  if (refusal.instruction >= 0) add("instruction " + std::to_string(refusal.instruction));
  if (refusal.source_line != 0) {
    std::string source = refusal.source_file + ":" + std::to_string(refusal.source_line);
    if (!refusal.source_text.empty()) source += " `" + refusal.source_text + "`";
    add(source);
  }
  std::string line = place.empty() ? refusal.text : place + ": " + refusal.text;
  if (!refusal.hint.empty()) line += " (" + refusal.hint + ")";
  return line;
}

}  // namespace trama::ebpf
