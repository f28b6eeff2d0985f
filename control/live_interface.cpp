#include "control/live_interface.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace trama {
namespace {

struct LiveSource {
  std::string_view prefix;
  std::string_view graph;
  std::string_view parameter;  // of its source, which takes the names
};
// The last one takes what none before it does: the kernel allows no interface a name with a colon.
constexpr std::array kLiveSources = {
    LiveSource{"dpdk:", "dpdk", "devices"},
    LiveSource{"xdp:", "xdp", "interfaces"},
    LiveSource{"", "live", "interfaces"},
};

const LiveSource& source_of(std::string_view given) {
  return *std::find_if(kLiveSources.begin(), kLiveSources.end(),
                       [&](const LiveSource& source) { return given.starts_with(source.prefix); });
}

}  // namespace

Expected<LiveInterfaces> live_interfaces(const std::vector<std::string>& given) {
  LiveInterfaces live;
  const LiveSource& source = source_of(given.front());
  live.graph = source.graph;
  live.parameter = source.parameter;
  for (const std::string& name : given) {
    const LiveSource& its = source_of(name);
    if (its.prefix != source.prefix)
      return failure("-i " + given.front() + " and -i " + name + " can't be captured from together",
                     "one run has one source: start two of them");
    live.names.push_back(name.substr(its.prefix.size()));
  }
  return live;
}

}  // namespace trama
