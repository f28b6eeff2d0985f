#include "modules/support/network_interface.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include "engine/suggest.hpp"

namespace trama {
namespace {

template <class T, class Fact>
std::vector<T> of_all_interfaces(Fact fact) {
  std::vector<T> facts;
  struct if_nameindex* const all = if_nameindex();
  if (all == nullptr) return facts;
  for (const struct if_nameindex* one = all; one->if_index != 0; ++one) facts.push_back(fact(*one));
  if_freenameindex(all);
  return facts;
}

// A socket to ask the system with: any will do.
class Asker {
 public:
  Asker() : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  ~Asker() {
    if (fd_ >= 0) close(fd_);
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  // `request` is one of the SIOC numbers.
  bool ask(unsigned long request, const std::string& name, ifreq& answer) const {
    std::memset(&answer, 0, sizeof answer);
    name.copy(answer.ifr_name, IFNAMSIZ - 1);
    return ioctl(fd_, request, &answer) == 0;
  }
  bool ask_driver(const std::string& name, void* command) const {
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = static_cast<char*>(command);
    return ioctl(fd_, SIOCETHTOOL, &request) == 0;
  }

 private:
  const int fd_;
};

// The names of a device's features; their places are the bits of ETHTOOL_GFEATURES.
std::vector<std::string> feature_names(const Asker& asker, const std::string& name) {
  alignas(ethtool_sset_info) std::array<uint8_t, sizeof(ethtool_sset_info) + sizeof(uint32_t)> counted{};
  auto* const count = reinterpret_cast<ethtool_sset_info*>(counted.data());
  count->cmd = ETHTOOL_GSSET_INFO;
  count->sset_mask = uint64_t{1} << ETH_SS_FEATURES;
  if (!asker.ask_driver(name, count) || count->sset_mask == 0) return {};
  const uint32_t features = count->data[0];

  const auto memory = std::make_unique<uint64_t[]>((sizeof(ethtool_gstrings) + features * ETH_GSTRING_LEN) / 8 + 1);
  auto* const texts = reinterpret_cast<ethtool_gstrings*>(memory.get());
  texts->cmd = ETHTOOL_GSTRINGS;
  texts->string_set = ETH_SS_FEATURES;
  texts->len = features;
  if (!asker.ask_driver(name, texts)) return {};
  std::vector<std::string> names;
  for (uint32_t i = 0; i < std::min(features, texts->len); ++i) {
    const char* text = reinterpret_cast<const char*>(texts->data) + i * ETH_GSTRING_LEN;
    names.emplace_back(text, strnlen(text, ETH_GSTRING_LEN));
  }
  return names;
}

std::vector<bool> active_features(const Asker& asker, const std::string& name, size_t features) {
  const size_t blocks = (features + 31) / 32;
  const size_t bytes = sizeof(ethtool_gfeatures) + blocks * sizeof(ethtool_get_features_block);
  const auto memory = std::make_unique<uint64_t[]>(bytes / 8 + 1);
  auto* const answer = reinterpret_cast<ethtool_gfeatures*>(memory.get());
  answer->cmd = ETHTOOL_GFEATURES;
  answer->size = static_cast<uint32_t>(blocks);
  std::vector<bool> active(features);
  if (!asker.ask_driver(name, answer)) return active;
  for (size_t i = 0; i < features; ++i) active[i] = (answer->features[i / 32].active >> (i % 32) & 1) != 0;
  return active;
}

}  // namespace

std::vector<std::string> interface_names() {
  return of_all_interfaces<std::string>([](const struct if_nameindex& one) { return one.if_name; });
}
std::vector<int> interface_indices() {
  return of_all_interfaces<int>([](const struct if_nameindex& one) { return static_cast<int>(one.if_index); });
}

Expected<NetworkInterface> find_interface(const std::string& name) {
  NetworkInterface interface;
  interface.name = interface.device = name;
  if (name == "any") return interface;
  interface.index = static_cast<int>(if_nametoindex(name.c_str()));
  if (interface.index == 0)
    return failure("there is no interface `" + name + "`", suggestion(name, "there are", interface_names()));
  // The calls below don't know alternative names.
  char device[IF_NAMESIZE] = {};
  if (if_indextoname(static_cast<unsigned>(interface.index), device)) interface.device = device;
  const Asker asker;
  ifreq answer;
  if (asker.ask(SIOCGIFHWADDR, interface.device, answer)) interface.hardware_type = answer.ifr_hwaddr.sa_family;
  if (asker.ask(SIOCGIFFLAGS, interface.device, answer)) interface.up = (answer.ifr_flags & IFF_UP) != 0;
  interface.loopback = interface.hardware_type == ARPHRD_LOOPBACK;
  return interface;
}

std::vector<std::string> merging_offloads(const NetworkInterface& interface) {
  static constexpr std::pair<std::string_view, const char*> kMerging[] = {
      {"rx-gro", "gro"}, {"rx-lro", "lro"}, {"rx-gro-hw", "rx-gro-hw"}};
  if (interface.index == 0) return {};
  const Asker asker;
  const std::vector<std::string> names = feature_names(asker, interface.device);
  const std::vector<bool> active = active_features(asker, interface.device, names.size());
  std::vector<std::string> merging;
  for (const auto& [kernels, ethtools] : kMerging)
    for (size_t i = 0; i < names.size(); ++i)
      if (active[i] && names[i] == kernels) merging.emplace_back(ethtools);
  return merging;
}

}  // namespace trama
