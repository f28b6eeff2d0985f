// What the system knows of a network interface.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

struct NetworkInterface {
  std::string name;            // as it was asked for
  std::string device;          // the name it has in the first place, where it was asked for by an alternative one
  int index = 0;               // 0: `any`, all of them together
  uint16_t hardware_type = 0;  // ARPHRD_ number (linux/if_arp.h)
  bool up = true;
  bool loopback = false;
};

// The interfaces of this network namespace, in the order of their indices.
std::vector<std::string> interface_names();
std::vector<int> interface_indices();

// `any` is one too. Refused: a name that no interface has; the hint names those there are.
Expected<NetworkInterface> find_interface(const std::string& name);

// What merges several received packets into one before anybody sees them, and is switched on, in the words of
// `ethtool -K`: of "gro", "lro" and "rx-gro-hw". Empty too where the driver can't be asked.
std::vector<std::string> merging_offloads(const NetworkInterface& interface);

}  // namespace trama
