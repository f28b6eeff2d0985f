// What the parts of the extension module share: how errors, texts and counts of the library become Python's.
#pragma once
#include <pybind11/pybind11.h>

#include <exception>
#include <optional>
#include <string>
#include <type_traits>

#include "libclient/formats/count_names.hpp"
#include "libclient/formats/error.hpp"

namespace trama::python {

// Raises trama.Error.
[[noreturn]] void raise(const FormatError& error);

// Texts come as their sender gave them; what isn't UTF-8 becomes U+FFFD.
pybind11::str to_str(const std::string& text);

// Counts by their published names.
template <class Counts, size_t N>
pybind11::dict to_dict(const Counts& counts, const CountName<Counts> (&names)[N]) {
  pybind11::dict dict;
  for (const auto& [name, count] : names) dict[name] = counts.*count;
  return dict;
}
inline pybind11::dict to_dict(const VerdictCounts& verdicts) { return to_dict(verdicts, kVerdictCountNames); }
inline pybind11::dict to_dict(const DroppedCounts& dropped) { return to_dict(dropped, kDroppedCountNames); }

// Lets other Python threads run meanwhile; `work` touches nothing of Python. Not a guard object: a daemon thread that
// comes back when the interpreter has ended is unwound from where it takes the lock again, which no destructor
// survives.
template <class Work>
std::invoke_result_t<Work&> without_gil(Work work) {
  std::optional<std::invoke_result_t<Work&>> result;
  std::exception_ptr failure;
  PyThreadState* const state = PyEval_SaveThread();
  try {
    result.emplace(work());
  } catch (...) {
    failure = std::current_exception();
  }
  PyEval_RestoreThread(state);
  if (failure) std::rethrow_exception(failure);
  return std::move(*result);
}

void bind_window(pybind11::module_& module);
void bind_stream(pybind11::module_& module);

}  // namespace trama::python
