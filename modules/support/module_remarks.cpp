#include "modules/support/module_remarks.hpp"

#include <algorithm>

#include "engine/suggest.hpp"

namespace trama {
namespace {

Diagnostic nothing_in_its_maps(const ModuleUse& use) {
  const bool several = use.unfilled.size() > 1;
  const std::string prefix = use.in_kernel ? "kernel_" : "";
  const bool takes_ranges = std::find(use.unfilled.begin(), use.unfilled.end(), "ranges_v4") != use.unfilled.end();
  return {Severity::warning, use.place,
          use.object + " judges by its " + (several ? "maps " : "map ") + joined(use.unfilled, " and ") +
              ", and nothing is in " + (several ? "them" : "it"),
          takes_ranges ? "give " + prefix + "ranges = [\"10.0.0.0/8\"], or " + prefix + "files = [\"privacy.txt\"]"
                       : "give " + prefix + "maps = [\"" + use.unfilled.front() + ": KEY = VALUE\"]"};
}

Diagnostic nothing_declared(const ModuleUse& use) {
  return {Severity::note, use.place,
          use.object +
              " doesn't declare what its verdicts mean: what it drops is excluded, and XDP_TX and XDP_REDIRECT "
              "are faults",
          std::string("TRAMA_DECLARE(.drop = TRAMA_FILTERED) in the module says it") +
              (use.in_kernel ? "" : ", or drop = \"filtered\" of the stage")};
}

}  // namespace

Diagnostics remarks_on(const ModuleUse& use) {
  Diagnostics remarks;
  if (!use.meanings_said) remarks.push_back(nothing_declared(use));
  if (!use.unfilled.empty()) remarks.push_back(nothing_in_its_maps(use));
  return remarks;
}

}  // namespace trama
