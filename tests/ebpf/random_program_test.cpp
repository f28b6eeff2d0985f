// The same random programs, packets and maps before three judges: interpreter, machine code, and the kernel where it
// takes the program and BPF is allowed. Verdict, packet and maps must be the same afterwards.
#include "tests/ebpf/random_program.hpp"

#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include "tests/ebpf/jit_sandbox.hpp"
#include "tests/ebpf/kernel_object.hpp"
#include "tests/support/long_tests.hpp"

namespace trama::ebpf {
namespace {

constexpr int kPackets = 6;  // for each object

using Contents = KernelObject::Contents;

Contents contents(const Map& map) {
  Contents all;
  map.for_each([&all](const MapEntry& entry) { all[entry.key] = entry.value; });
  return all;
}

std::vector<uint8_t> packet_of(const Execution& execution) {
  const auto* const data = reinterpret_cast<const uint8_t*>(execution.data);
  return {data, data + (execution.data_end - execution.data)};
}

// Interpreter and machine code, with the same in their maps.
class TwoJudges {
 public:
  TwoJudges(const Object& object, Random& random) : interpreter_(object), jit_(object) {
    if (!jit_.jit) return;
    Random again = random;
    fill_maps(object, *interpreter_.maps, random);
    fill_maps(object, *jit_.maps, again);
  }
  bool ready() const { return jit_.jit != nullptr; }
  const Maps& maps() const { return *jit_.maps; }
  const Execution& execution() const { return *jit_.execution; }

  KernelObject::Result run(const std::vector<uint8_t>& bytes) {
    const TestPacket one(bytes, kHeadroomBytes), other(bytes, kHeadroomBytes);
    const uint64_t verdict = jit_.run(one);
    EXPECT_EQ(verdict, interpreter_.run(other));
    const Execution &a = *jit_.execution, &b = *interpreter_.execution;
    EXPECT_EQ(a.fault, b.fault) << name_of(a.fault) << ", " << name_of(b.fault);
    EXPECT_EQ(a.steps_left, b.steps_left);
    if (a.fault != Fault::none) {
      EXPECT_EQ(a.fault_program, b.fault_program);
      EXPECT_EQ(a.fault_instruction, b.fault_instruction);
    }
    EXPECT_EQ(packet_of(a), packet_of(b));
    for (uint32_t map = 0; map < maps().size(); ++map)
      EXPECT_EQ(contents(maps()[map]), contents((*interpreter_.maps)[map])) << maps()[map].spec().name;
    return {static_cast<uint32_t>(verdict), packet_of(a)};
  }

 private:
  Sandbox interpreter_;
  JitSandbox jit_;
};

TEST(RandomPrograms, InterpreterAndMachineCodeComeToTheSameEnd) {
  const uint32_t start = std::random_device{}();
  for (uint64_t i = 0; i < runs(400, 50'000) && !HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(start + i));
    Random random(start + i);
    TwoJudges judges(random_object(random), random);
    ASSERT_TRUE(judges.ready());
    for (int packet = 0; packet < kPackets && !HasFailure(); ++packet) judges.run(random_packet(random));
  }
}

// Tests that keep accesses inside what they may touch are left out here and there: such programs fault, and where
// machine code checks, it must find what the interpreter finds.
TEST(RandomPrograms, FaultsAreTheSame) {
  const uint32_t start = std::random_device{}();
  uint64_t faults = 0, ends = 0;
  for (uint64_t i = 0; i < runs(400, 50'000) && !HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(start + i));
    Random random(start + i);
    TwoJudges judges(random_object(random, Care::little), random);
    ASSERT_TRUE(judges.ready());
    for (int packet = 0; packet < kPackets && !HasFailure(); ++packet) {
      judges.run(random_packet(random));
      ++(judges.execution().fault == Fault::none ? ends : faults);
    }
  }
  EXPECT_GT(faults, 100u);
  EXPECT_GT(ends, 100u);
}

TEST(RandomPrograms, TheKernelComesToTheSameEnd) {
  libbpf_set_print(nullptr);
  if (const int error = error_of_smallest_program(); error != 0)
    GTEST_SKIP() << "BPF is not allowed here: " << std::strerror(error);
  const OneProcessor processor;
  const uint32_t start = std::random_device{}();
  const uint64_t count = runs(200, 5'000);
  uint64_t taken = 0;
  for (uint64_t i = 0; i < count && !HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(start + i));
    Random random(start + i);
    const Object object = random_object(random);
    KernelObject kernel(object);
    if (!kernel.taken()) continue;
    ++taken;
    TwoJudges judges(object, random);
    ASSERT_TRUE(judges.ready());
    kernel.copy(judges.maps());
    for (int packet = 0; packet < kPackets && !HasFailure(); ++packet) {
      const std::vector<uint8_t> bytes = random_packet(random);
      const KernelObject::Result there = kernel.run(bytes), here = judges.run(bytes);
      EXPECT_EQ(here.verdict, there.verdict);
      EXPECT_EQ(here.packet, there.packet);
      for (uint32_t map = 0; map < object.maps.size(); ++map)
        if (object.maps[map].type != BPF_MAP_TYPE_PROG_ARRAY) {
          EXPECT_EQ(contents(judges.maps()[map]), kernel.contents(map, processor.number())) << object.maps[map].name;
        }
    }
  }
  RecordProperty("taken", std::to_string(taken));
  EXPECT_GT(taken, count / 2);
}

}  // namespace
}  // namespace trama::ebpf
