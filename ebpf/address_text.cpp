#include "ebpf/address_text.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

namespace trama::ebpf {
namespace {

std::optional<uint32_t> number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Address> address_of(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size() || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::copy(text.begin(), text.end(), terminated.begin());
  Address address;
  if (::inet_pton(AF_INET, terminated.data(), address.bytes.data()) == 1) {
    address.size = 4;
    return address;
  }
  if (::inet_pton(AF_INET6, terminated.data(), address.bytes.data()) != 1) return std::nullopt;
  address.size = 16;
  return address;
}

Expected<Cidr> cidr_of(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = address_of(text.substr(0, slash));
  if (!address) return refuse("the key is no IP address or prefix", "as in 10.0.0.0/8 or 2001:db8::/32");
  const auto most = static_cast<uint32_t>(address->size * 8);
  Cidr cidr{*address, most};
  if (slash != std::string_view::npos) {
    const auto length = number(text.substr(slash + 1));
    if (!length || *length > most)
      return refuse("the prefix length is no number of 0 to " + std::to_string(most), "as in 10.0.0.0/8");
    cidr.length = *length;
  }
  for (uint32_t byte = cidr.length / 8; byte < address->size; ++byte)
    if (const uint32_t behind = byte == cidr.length / 8 ? 0xffu >> cidr.length % 8 : 0xffu;
        (address->bytes[byte] & behind) != 0)
      return refuse("the prefix has bits set behind its length", "10.1.0.0/8 would be 10.0.0.0/8");
  return cidr;
}

std::vector<uint8_t> lpm_key(const Cidr& cidr) {
  std::vector<uint8_t> key(sizeof cidr.length + cidr.address.size);
  std::memcpy(key.data(), &cidr.length, sizeof cidr.length);
  std::memcpy(key.data() + sizeof cidr.length, cidr.address.bytes.data(), cidr.address.size);
  return key;
}

bool contains(const Cidr& outer, const Cidr& inner) {
  if (outer.length > inner.length) return false;
  const size_t whole = outer.length / 8, rest = outer.length % 8;
  if (std::memcmp(outer.address.bytes.data(), inner.address.bytes.data(), whole) != 0) return false;
  return rest == 0 || ((outer.address.bytes[whole] ^ inner.address.bytes[whole]) >> (8 - rest)) == 0;
}

}  // namespace trama::ebpf
