// What the readers and writers of formats say when something is wrong: what it is, and what mends it.
#pragma once
#include <string>
#include <tl/expected.hpp>

namespace trama {

// Never holds an address, an index or a key: these texts are printed, logged and pasted into bug reports. Positions and
// counts are fine.
struct FormatError {
  std::string text;  // one sentence without a full stop
  std::string hint;  // what mends it; may be empty
};

template <class T>
using FormatExpected = tl::expected<T, FormatError>;

inline tl::unexpected<FormatError> format_failure(std::string text, std::string hint = "") {
  return tl::unexpected(FormatError{std::move(text), std::move(hint)});
}

// The same error, with the name of the thing it is about in front.
inline tl::unexpected<FormatError> format_failure_in(const std::string& name, FormatError error) {
  return tl::unexpected(FormatError{name + ": " + error.text, std::move(error.hint)});
}

}  // namespace trama
