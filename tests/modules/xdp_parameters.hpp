// What the tests of the stage `xdp` give it.
#pragma once
#include <string>

#include "modules/messages.hpp"
#include "tests/support/filter_objects.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama::test {

using FilterHarness = StageHarness<PacketBatch, PacketBatch>;

inline std::string object_line(const std::string& file) { return "object = \"" + file + "\"\n"; }

// Of the object `verdicts`, which has a program for each.
inline std::string verdict_program(const std::string& program) {
  return object_line(of_tests("verdicts")) + "program = \"" + program + "\"\n";
}

}  // namespace trama::test
