// The extension module trama._trama: streams and windows of libclient/subscriber.hpp for Python. What is more
// convenient in Python itself is in trama/*.py; trama/_trama.pyi has the types.
#include "python/objects.hpp"

namespace py = pybind11;

namespace trama::python {

void raise(const FormatError& error) {
  const py::object type = py::module_::import("trama._error").attr("Error");
  PyErr_SetObject(type.ptr(), type(to_str(error.text), to_str(error.hint)).ptr());
  throw py::error_already_set();
}

py::str to_str(const std::string& text) {
  PyObject* const str = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (!str) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(str);
}

}  // namespace trama::python

PYBIND11_MODULE(_trama, module) {
  module.attr("__version__") = TRAMA_VERSION;
  trama::python::bind_window(module);
  trama::python::bind_stream(module);
}
