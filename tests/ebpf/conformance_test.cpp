// Every instruction, with edge values, through the interpreter; and none of these programs may be refused.
#include "tests/ebpf/conformance.hpp"

#include "tests/ebpf/sandbox.hpp"

namespace trama::ebpf {
namespace {

TEST(Conformance, InterpreterComputesWhatTheTableSays) {
  for (const ConformanceCase& one : conformance_cases()) {
    SCOPED_TRACE(one.name);
    Sandbox sandbox(object_of({one.code}));
    EXPECT_EQ(sandbox.run(), one.expected);
    EXPECT_EQ(sandbox.fault(), Fault::none);
  }
}

TEST(Conformance, VerifierAcceptsAll) {
  for (const ConformanceCase& one : conformance_cases()) {
    SCOPED_TRACE(one.name);
    const auto facts = analyze(object_of({one.code}), 0);
    EXPECT_TRUE(facts) << describe(facts.error());
  }
}

TEST(Conformance, TableIsWhole) {
  std::array<bool, 256> seen{};
  for (const ConformanceCase& one : conformance_cases())
    for (const bpf_insn& instruction : one.code) seen[instruction.code] = true;
  size_t codes = 0;
  for (const bool one : seen) codes += one;
  // 12 operations of two operands and neg, each 64 and 32 bits, by register and immediate; two byte swaps; 11
  // conditions in the same four forms, ja, call, exit; loads, stores and stores of immediates of four sizes; atomics of
  // two; wide loads and their second half.
  EXPECT_EQ(codes, 12u * 4 + 2 + 2 + 11 * 4 + 3 + 12 + 2 + 2);
}

}  // namespace
}  // namespace trama::ebpf
