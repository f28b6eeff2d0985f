// Fuzz target of what stands between an object file and machine code. Input: an object file, which a child process
// links; or, if it isn't an ELF file, what such a child might send back, which needs no process. What comes out of
// either is analyzed, compiled and run on a packet.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <span>

#include "ebpf/filter_module.hpp"
#include "ebpf/loader.hpp"
#include "ebpf/object_codec.hpp"

namespace trama::ebpf {
namespace {

bool is_elf(std::span<const uint8_t> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "\177ELF", 4) == 0;
}

void judge(const Object& object) {
  for (const Program& program : object.programs) {
    const auto module = FilterModule::make(object, {.program = program.name, .redirect = Meaning::passed});
    if (!module) continue;
    std::array<uint8_t, 64> frame{};
    FilterReplica replica(**module, 0, frame.size());
    replica.begin_batch();
    const Decision decision = replica.judge(frame, 1);
    replica.end_batch();
    if (decision == Decision::fault && replica.describe_fault().empty()) std::abort();
  }
}

}  // namespace
}  // namespace trama::ebpf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trama::ebpf;
  const std::span<const uint8_t> bytes(data, size);
  if (const auto object = is_elf(bytes) ? load_object(bytes, "fuzzed.bpf.o") : decode(bytes)) judge(*object);
  return 0;
}
