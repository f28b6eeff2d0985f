// Where compiled filter modules are: those that ship, and those of the tests. For programs that are built with
// TRAMA_FILTERS and TRAMA_TEST_FILTERS (tests/CMakeLists.txt).
#pragma once
#include <string>

namespace trama::test {

inline std::string shipped(const std::string& name) { return std::string(TRAMA_FILTERS) + "/" + name + ".bpf.o"; }
inline std::string of_tests(const std::string& name) { return std::string(TRAMA_TEST_FILTERS) + "/" + name + ".bpf.o"; }

}  // namespace trama::test
