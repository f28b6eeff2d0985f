#include "control/machine.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "control/run_graph.hpp"
#include "control/vector_targets.hpp"

namespace trama {
namespace {

// The number that a file consists of; UINT64_MAX when it isn't there, or says "max".
uint64_t number_in(const char* path) {
  uint64_t value = UINT64_MAX;
  std::ifstream file(path);
  if (!(file >> value)) return UINT64_MAX;
  return value;
}

std::string processor_name() {
  for (const char* name : {"model name", "Model", "Hardware", "CPU part"})
    if (std::string value = proc_value("/proc/cpuinfo", name); !value.empty()) return value;
  return "unknown processor";
}

}  // namespace

std::string proc_value(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || line.find_last_not_of(" \t", colon - 1) + 1 != name.size()) continue;
    if (!line.starts_with(name)) continue;
    const size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

uint64_t proc_kib(const char* path, const std::string& name) {
  uint64_t value = 0;
  std::istringstream(proc_value(path, name)) >> value;
  return value << 10;
}

uint64_t available_memory_bytes() {
  const uint64_t available = proc_kib("/proc/meminfo", "MemAvailable");
  const uint64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const uint64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (limit == UINT64_MAX || used == UINT64_MAX) return available;
  return std::min(available, limit - std::min(limit, used));
}

Machine describe_machine() {
  Machine machine;
  machine.processor = processor_name();
  machine.cores_allowed = allowed_processors().size();
  machine.cores_online = static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  const std::vector<std::string> targets = usable_vector_targets();
  machine.vector_target = targets.empty() ? "no vectors" : targets.front();
  utsname system{};
  if (uname(&system) == 0) machine.kernel = std::string(system.sysname) + " " + system.release + " " + system.machine;
#ifdef __clang__
  machine.compiler = "clang " __clang_version__;
#else
  machine.compiler = "g++ " __VERSION__;
#endif
  if (getloadavg(&machine.load, 1) != 1) machine.load = 0;
  return machine;
}

}  // namespace trama
