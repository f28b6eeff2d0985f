// What the kernel asks of a process that attaches filters to an interface, and how to give it that.
#pragma once
#include <string>
#include <vector>

#include "ebpf/error.hpp"

namespace trama::ebpf {

// What this thread lacks, one by one, with what it is for: "CAP_BPF (to load programs and maps)". Empty: nothing. In a
// user namespace of its own (an unprivileged container) a process may hold all of them, and still be refused.
std::vector<std::string> missing_capabilities();

// The commands that grant them, and CAP_NET_RAW with them, which capturing needs.
std::string how_to_grant_capabilities();

// Refuses when something is missing, naming all of it.
Expected<void> check_capabilities();

}  // namespace trama::ebpf
