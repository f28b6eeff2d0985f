// The sandbox with machine code in place of the interpreter.
#pragma once
#include <memory>
#include <utility>

#include "ebpf/jit.hpp"
#include "tests/ebpf/sandbox.hpp"

namespace trama::ebpf {

class JitSandbox : public Sandbox {
 public:
  // Not ready, and the test failed: the object is refused.
  explicit JitSandbox(Object made, uint32_t replicas = 1) : Sandbox(std::move(made), replicas) {
    auto analyzed = analyze(object);
    if (!analyzed) {
      ADD_FAILURE() << describe(analyzed.error());
      return;
    }
    analysis = std::move(*analyzed);
    auto compiled = Jit::compile(object, analysis, *maps);
    if (!compiled) {
      ADD_FAILURE() << describe(compiled.error());
      return;
    }
    jit = std::move(*compiled);
  }

  uint64_t run(const TestPacket& packet, uint32_t program = 0) {
    return judge(packet, [&] { return jit->run(program, *execution); });
  }
  uint64_t run(uint32_t program = 0) { return run(TestPacket(std::vector<uint8_t>(60)), program); }

  Analysis analysis;
  std::unique_ptr<Jit> jit;
};

}  // namespace trama::ebpf
