// A window. Its arrays are views of the memory that the library decoded it into: nothing is copied, each view holds the
// window, and none can be written to.
#include <pybind11/numpy.h>

#include <cstdint>
#include <span>

#include "libclient/stream_window.hpp"
#include "python/objects.hpp"

namespace py = pybind11;

namespace trama::python {
namespace {

template <class Value>
py::array view(py::handle window, std::span<const Value> values) {
  py::array_t<Value> array({values.size()}, {sizeof(Value)}, values.data(), window);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

const StreamWindow& window_of(py::handle object) { return object.cast<const StreamWindow&>(); }

const char* name_of(ClosedBy reason) { return kClosedByNames.at(static_cast<size_t>(reason)); }
const char* name_of(EnvelopeEncoding encoding) { return encoding == EnvelopeEncoding::compact ? "compact" : "blob"; }

py::object utc(int64_t time_ns) { return py::module_::import("trama._time").attr("utc")(time_ns); }

py::object call(const char* module, const char* function, const py::object& window) {
  return py::module_::import(module).attr(function)(window);
}

std::string describe(const StreamWindow& window) {
  return "<trama.Window " + std::to_string(window.info().seq) + ": " + std::to_string(window.info().packets) +
         " packets, " + std::to_string(window.info().links) + " links, " + std::to_string(window.missed) + " missed>";
}

using Class = py::class_<StreamWindow>;

void bind_numbers(Class& window) {
  const auto number = [&](const char* name, auto member) {
    window.def_property_readonly(name, [member](const StreamWindow& self) { return self.info().*member; });
  };
  number("run", &WindowInfo::run);
  number("seq", &WindowInfo::seq);
  number("window_packets", &WindowInfo::window_packets);
  number("packets", &WindowInfo::packets);
  number("links", &WindowInfo::links);
  number("first_ns", &WindowInfo::first_ns);
  number("last_ns", &WindowInfo::last_ns);
  number("removed_in_kernel", &WindowInfo::removed_in_kernel);
  window.def_readonly("missed", &StreamWindow::missed);
  window.def_readonly("restarted", &StreamWindow::restarted);
  window.def_property_readonly("first_time", [](const StreamWindow& self) { return utc(self.info().first_ns); });
  window.def_property_readonly("last_time", [](const StreamWindow& self) { return utc(self.info().last_ns); });
  window.def_property_readonly("verdicts", [](const StreamWindow& self) { return to_dict(self.info().verdicts); });
  window.def_property_readonly("dropped", [](const StreamWindow& self) { return to_dict(self.info().dropped); });
}

void bind_texts(Class& window) {
  const auto text = [&](const char* name, auto member) {
    window.def_property_readonly(name, [member](const StreamWindow& self) { return to_str(self.info().*member); });
  };
  text("sensor", &WindowInfo::sensor);
  text("stream", &WindowInfo::stream);
  text("graph", &WindowInfo::graph);
  text("anonymization", &WindowInfo::anonymization);
  text("key", &WindowInfo::key);
  text("exclusions", &WindowInfo::exclusions);
  window.def_property_readonly("closed_by", [](const StreamWindow& self) { return name_of(self.info().closed_by); });
  window.def_property_readonly("encoding", [](const StreamWindow& self) { return name_of(self.info().encoding); });
  window.def_property_readonly("index_order",
                               [](const StreamWindow& self) { return self.info().raw_order ? "raw" : "numeric"; });
}

void bind_matrix(Class& window) {
  const auto array = [&](const char* name, auto member) {
    window.def_property_readonly(name,
                                 [member](py::handle self) { return view(self, window_of(self).matrix().*member); });
  };
  array("rows", &HyperCsr::row);
  array("starts", &HyperCsr::start);
  array("columns", &HyperCsr::column);
  array("counts", &HyperCsr::count);
  window.def_property_readonly("serialized", [](py::handle self) { return view(self, window_of(self).serialized()); });
  window.def("pairs", [](const py::object& self) { return call("trama._pairs", "pairs_of", self); });
  window.def("graphblas", [](const py::object& self) { return call("trama._graphblas", "matrix_of", self); });
}

}  // namespace

void bind_window(py::module_& module) {
  Class window(module, "Window");
  window.attr("__module__") = "trama";
  bind_numbers(window);
  bind_texts(window);
  bind_matrix(window);
  window.def("__repr__", describe);
}

}  // namespace trama::python
