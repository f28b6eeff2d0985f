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
  std::string_view what;       // a name stands for
  std::string_view as_in;      // how names are written
};
// The last one takes what none before it does: the kernel allows no interface a name with a colon.
constexpr std::array kLiveSources = {
    LiveSource{"dpdk:", "dpdk", "devices", "device",
               "-i dpdk:0000:03:00.0, -i dpdk:net_af_packet0,iface=eth1, or -i dpdk:all"},
    LiveSource{"xdp:", "xdp", "interfaces", "interface", "-i xdp:eth1; `ip -brief link` lists interfaces"},
    LiveSource{"", "live", "interfaces", "interface", "-i eth0, or -i any; `ip -brief link` lists interfaces"},
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
                     "one run has one source: start a run for each");
    live.names.push_back(name.substr(its.prefix.size()));
    if (live.names.back().empty())
      return failure("-i " + (name.empty() ? "\"\"" : name) + " names no " + std::string(its.what),
                     "write " + std::string(its.as_in));
  }
  return live;
}

}  // namespace trama
