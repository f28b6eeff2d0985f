// What is known of the machine that this command runs on.
#pragma once
#include <cstdint>
#include <string>

namespace trama {

// The value of the first line `NAME: VALUE` of a file such as those in /proc; empty when there is none.
std::string proc_value(const char* path, const std::string& name);
uint64_t proc_kib(const char* path, const std::string& name);  // of a value in kB, in bytes; 0 when there is none

// Bytes that can still be taken: what the kernel says, or less where this process's memory is limited (cgroup v2).
uint64_t available_memory_bytes();

struct Machine {
  std::string processor;     // as it calls itself
  size_t cores_allowed = 0;  // that this process may run on
  size_t cores_online = 0;
  std::string vector_target;  // in use: "avx3_dl", "avx2", "neon", ...
  std::string kernel;         // "Linux 6.1.0 x86_64"
  std::string compiler;       // that made this program
  double load = 0;            // average of the last minute
};
Machine describe_machine();

}  // namespace trama
