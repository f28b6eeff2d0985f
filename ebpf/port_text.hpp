// Protocols and ports as text, for keys of TRAMA_PORT_KEY (ebpf/trama_filter.h): "tcp/443", "udp" for any of its ports,
// "47/0" for a protocol without a name, "any" for all the rest.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "ebpf/error.hpp"

namespace trama::ebpf {

// Refuses what is none, and a port of `any` or of a protocol without ports: such an entry would never be met. No
// message repeats the text.
Expected<uint32_t> port_key_of(std::string_view text);

// As port_key_of() reads it; empty: no entry has this key.
std::string port_text(uint32_t key);

}  // namespace trama::ebpf
