#include "ebpf/port_text.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include "ebpf/trama_filter.h"

namespace trama::ebpf {
namespace {

constexpr std::pair<std::string_view, uint32_t> kProtocols[] = {{"any", 0},    {"icmp", 1},   {"tcp", 6},
                                                                {"udp", 17},   {"dccp", 33},  {"gre", 47},
                                                                {"icmp6", 58}, {"sctp", 132}, {"udplite", 136}};
constexpr uint32_t kWithPorts[] = {6, 17, 33, 132, 136};

bool has_ports(uint32_t protocol) {
  return std::find(std::begin(kWithPorts), std::end(kWithPorts), protocol) != std::end(kWithPorts);
}

std::optional<uint32_t> number(std::string_view text, uint32_t most) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

}  // namespace

Expected<uint32_t> port_key_of(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string_view name = text.substr(0, slash);
  std::optional<uint32_t> protocol, port = 0;
  for (const auto& [known, value] : kProtocols)
    if (name == known) protocol = value;
  if (!protocol && slash != std::string_view::npos) protocol = number(name, 255);
  if (slash != std::string_view::npos) port = number(text.substr(slash + 1), 65535);
  if (!protocol || !port) return refuse("the key is no protocol and port", "as in tcp/443, udp, 47/0 or any");
  if (*port == 0 || has_ports(*protocol)) return TRAMA_PORT_KEY(*protocol, *port);
  return refuse(std::string("the key names a port of ") +
                    (*protocol == 0 ? "any protocol" : "a protocol without ports") +
                    ": such an entry would never be met",
                "tcp, udp, dccp, sctp and udplite have ports: an entry for each, as in tcp/443 and udp/443");
}

std::string port_text(uint32_t key) {
  const uint32_t protocol = key >> 16, port = key & 0xffff;
  if (protocol > 255 || (port != 0 && !has_ports(protocol))) return "";
  for (const auto& [name, value] : kProtocols)
    if (value == protocol) return std::string(name) + (port == 0 ? "" : "/" + std::to_string(port));
  return std::to_string(protocol) + "/" + std::to_string(port);
}

}  // namespace trama::ebpf
