// Runs something that may crash, hang or eat memory in a process of its own, and takes bytes from it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace trama::ebpf {

struct ChildLimits {
  uint64_t memory_bytes = 256u << 20;  // beside what this process has
  uint32_t processor_s = 5;
  uint32_t wall_ms = 10'000;
  uint64_t reply_bytes = 64u << 20;
};

struct ChildReply {
  std::vector<uint8_t> bytes;  // as far as it came
  bool finished = false;       // it sent all and ended by itself
  std::string end;             // else: "it was killed by signal 11", "it took longer than 10 s"
};

// The child has no open files but /dev/null, default signal handlers, writes no core, and dies with this thread. It is
// a fork of a process that may have threads, so `work` must not need a lock that another thread may hold; malloc is
// fine.
ChildReply run_in_child(const std::function<std::vector<uint8_t>()>& work, const ChildLimits& limits);

}  // namespace trama::ebpf
