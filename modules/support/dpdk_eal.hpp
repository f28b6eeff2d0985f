// EAL, DPDK's environment: initialised once a process, with as few side effects on the process as it can have.
#pragma once
#include "engine/diagnostic.hpp"
#include "modules/support/dpdk_options.hpp"

namespace trama {

// Initialises EAL if it isn't yet; a second source uses it as the first one has set it up. The calling thread keeps its
// processors, nothing is printed, and no file is left behind. Notes go to `remarks`.
Expected<void> start_eal(const DpdkOptions& options, Diagnostics& remarks);

// Is it the address of a device on the PCI bus, with or without arguments behind it?
bool is_pci_address(const std::string& device);

// Makes the calling thread known to EAL, if there is room: drivers may keep things for each thread. Cheap after the
// first call.
void register_eal_thread() noexcept;

}  // namespace trama
