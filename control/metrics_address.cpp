#include "control/metrics_address.hpp"

#include <arpa/inet.h>

#include <charconv>

namespace trama {

std::string MetricsAddress::text() const {
  const in_addr address{htonl(host)};
  char text[INET_ADDRSTRLEN];
  return std::string(inet_ntop(AF_INET, &address, text, sizeof text)) + ":" + std::to_string(port);
}

Expected<MetricsAddress> MetricsAddress::parse(const std::string& text) {
  const auto wrong = [&] {
    return failure("--metrics is a port, or ADDRESS:PORT of IPv4, not `" + text + "`",
                   "9100 for this machine alone, 192.0.2.7:9100 for an address, 0.0.0.0:9100 for all of them");
  };
  MetricsAddress address;
  const size_t colon = text.find(':');
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size()) return wrong();
  if (colon == std::string::npos || text.substr(0, colon) == "localhost") return address;
  in_addr host{};
  if (inet_pton(AF_INET, text.substr(0, colon).c_str(), &host) != 1) return wrong();
  address.host = ntohl(host.s_addr);
  return address;
}

}  // namespace trama
