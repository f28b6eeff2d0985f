// What setup and control say when something is wrong: where it is, what it is, and what mends it.
#pragma once
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace trama {

enum class Severity { error, warning, note };

// Where a diagnostic points. An empty file means no place at all; line 0 means the file as a whole.
struct Place {
  std::string file;
  int line = 0;
  bool operator==(const Place&) const = default;
};

// Never holds a key or an original address: diagnostics are printed, logged and pasted into bug reports.
struct Diagnostic {
  Severity severity = Severity::error;
  Place place;
  std::string text;  // one sentence without a full stop
  std::string hint;  // what mends it; may be empty
};
using Diagnostics = std::vector<Diagnostic>;

// What setup and control functions return. The data path counts instead.
template <class T>
using Expected = tl::expected<T, Diagnostic>;

inline tl::unexpected<Diagnostic> failure(std::string text, std::string hint = "", Place place = {}) {
  return tl::unexpected(Diagnostic{Severity::error, std::move(place), std::move(text), std::move(hint)});
}

}  // namespace trama
