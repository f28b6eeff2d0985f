// Where metrics are to be had: what --metrics was given.
#pragma once
#include <cstdint>
#include <string>

#include "engine/diagnostic.hpp"

namespace trama {

// IPv4 only: the HTTP server behind prometheus-cpp has no IPv6 in Debian.
struct MetricsAddress {
  uint32_t host = 0x7F000001;  // 1.2.3.4 is 0x01020304
  uint16_t port = 0;           // 0: any free one

  bool is_loopback() const { return host >> 24 == 127; }
  std::string text() const;  // "127.0.0.1:9100"

  // PORT, ADDRESS:PORT or localhost:PORT. Other names are refused, for which address a name stands for is decided
  // elsewhere.
  static Expected<MetricsAddress> parse(const std::string& text);
};

}  // namespace trama
