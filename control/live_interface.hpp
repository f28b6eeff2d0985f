// What `-i` names: an interface of the kernel's, or, with a prefix, something that another source captures from.
#pragma once
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

struct LiveInterfaces {
  std::string graph;               // the built-in graph that captures from them
  std::string parameter;           // of its source, which takes the names
  std::vector<std::string> names;  // without prefix
};

// One source captures from all of them. Refused: prefixes that differ, and prefixes without a name.
Expected<LiveInterfaces> live_interfaces(const std::vector<std::string>& given);

}  // namespace trama
