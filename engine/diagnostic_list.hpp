// Several diagnostics at once: how they are gathered and ordered.
#pragma once
#include <algorithm>
#include <string>
#include <utility>

#include "engine/diagnostic.hpp"

namespace trama {

inline void refuse(Diagnostics& diagnostics, const Place& place, std::string text, std::string hint) {
  diagnostics.push_back({Severity::error, place, std::move(text), std::move(hint)});
}

// By line; those without a line come first, and equal ones stay as they were found.
inline Diagnostics in_order(Diagnostics diagnostics) {
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.place.line < b.place.line; });
  return diagnostics;
}

}  // namespace trama
