// The lists that a filter module judges by, as a graph names them: privacy ranges and contents of maps, given in place
// or in files.
#pragma once
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "engine/diagnostic.hpp"
#include "modules/support/list_file.hpp"

namespace trama {

struct ModuleLists {
  std::vector<std::string> ranges, files;    // CIDR[:side] (privacy_ranges.hpp); files of them
  std::vector<std::string> maps, map_files;  // "MAP: KEY = VALUE" (ebpf/map_entries.hpp); files of them
  Place ranges_place, maps_place;

  bool has_files() const { return !files.empty() || !map_files.empty(); }

  struct Contents {
    std::vector<std::string> ranges;   // canonical, a range each
    std::vector<std::string> entries;  // as they were written
    std::vector<Place> places;         // of the entries
  };
  // Fails with everything that is wrong in ranges and files. Entries are judged by whoever knows the maps.
  tl::expected<Contents, Diagnostics> read(Reading reading) const;
};

// What a module had to say of them, as a diagnostic: at the entry's place, or else at the module's. A template, because
// this folder knows no eBPF.
template <class Refusal>
Diagnostic diagnostic_of(Refusal refusal, const ModuleLists::Contents& contents, const Place& module) {
  Place place = module;
  if (refusal.entry >= 0 && static_cast<size_t>(refusal.entry) < contents.places.size()) {
    place = contents.places[static_cast<size_t>(refusal.entry)];
    if (place.line > 0) refusal.entry = -1;  // the line says which
  }
  std::string hint = std::exchange(refusal.hint, "");
  return {Severity::error, std::move(place), describe(refusal), std::move(hint)};
}

}  // namespace trama
