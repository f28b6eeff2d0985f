// IP addresses and prefixes as text, for contents of maps.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ebpf/error.hpp"

namespace trama::ebpf {

struct Address {
  std::array<uint8_t, 16> bytes{};  // in network order; IPv4 in the first four
  size_t size = 0;                  // 4 or 16
};

struct Cidr {
  Address address;
  uint32_t length = 0;  // bits
};

// 192.0.2.7 or 2001:db8::1.
std::optional<Address> address_of(std::string_view text);

// ADDRESS[/LENGTH]; an address alone has all its bits. Refuses bits set behind the length. No message repeats the text.
Expected<Cidr> cidr_of(std::string_view text);

// As LPM tries have it: u32 length in host order, then the address.
std::vector<uint8_t> lpm_key(const Cidr& cidr);

bool contains(const Cidr& outer, const Cidr& inner);

}  // namespace trama::ebpf
