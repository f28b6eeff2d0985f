// What `trama doctor` looks at. Nothing is changed by looking, and nothing is attached to an interface.
#pragma once
#include <string>
#include <vector>

namespace trama {

struct Finding {
  // note: it works, but not as well as it could, or not as one may think. missing: some use of Trama is not possible
  // so; `value` says which. broken: none is.
  enum class State { ok, note, missing, broken };
  State state;
  std::string what, value;
  std::string mend;  // the command that mends it; may be empty
};
using Findings = std::vector<Finding>;

// Processor, memory, limits, the output folder, the clock, the service manager.
Findings machine_findings(const std::string& output_folder);
// What capturing from the kernel's interfaces takes: capabilities, packet sockets, eBPF, AF_XDP.
Findings capture_findings();
// Each interface of this network namespace.
Findings interface_findings();
// What the dpdk source takes: its plug-in, huge pages, vfio.
Findings device_findings();

}  // namespace trama
