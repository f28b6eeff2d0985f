#include "ebpf/map_entries.hpp"

#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "ebpf/address_text.hpp"
#include "ebpf/port_text.hpp"

namespace trama::ebpf {
namespace {

using Buffer = std::vector<uint8_t>;

constexpr const char* kHowToWrite = "write \"MAP: KEY = VALUE\", as in \"ranges_v4: 10.0.0.0/8 = 1\"";

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::optional<uint64_t> number(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// In host order, which is little-endian wherever programs run; as the compiler lays out a __u8 to __u64.
std::optional<Buffer> number_bytes(uint64_t value, size_t bytes) {
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return std::nullopt;
  if (bytes < 8 && value >> (8 * bytes) != 0) return std::nullopt;
  Buffer result(bytes);
  std::memcpy(result.data(), &value, bytes);
  return result;
}

std::optional<Buffer> hex_bytes(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  Buffer bytes;
  for (size_t at = 0; at < text.size(); at += 2) {
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 2, byte, 16);
    if (error != std::errc() || end != text.data() + at + 2) return std::nullopt;
    bytes.push_back(byte);
  }
  return bytes;
}

tl::unexpected<Refusal> wrong_size(const char* what, size_t is, size_t wanted) {
  return refuse(std::string("the ") + what + " has " + std::to_string(is) + " bytes, and the map takes " +
                std::to_string(wanted));
}

Expected<Buffer> key_of(const MapSpec& spec, std::string_view text) {
  if (text.starts_with("hex:")) {
    const auto bytes = hex_bytes(text.substr(4));
    if (!bytes) return refuse("the key behind hex: is not pairs of hexadecimal digits", "as in hex:0aff");
    if (bytes->size() != spec.key_size) return wrong_size("key", bytes->size(), spec.key_size);
    return *bytes;
  }
  if (spec.type == BPF_MAP_TYPE_LPM_TRIE) {
    const auto cidr = cidr_of(text);
    if (!cidr) return tl::unexpected(cidr.error());
    const Buffer key = lpm_key(*cidr);
    if (key.size() != spec.key_size) return wrong_size("key of such a prefix", key.size(), spec.key_size);
    return key;
  }
  if (const auto value = number(text)) {
    auto bytes = number_bytes(*value, spec.key_size);
    if (!bytes) return refuse("the number is no key of " + std::to_string(spec.key_size) + " bytes");
    return *bytes;
  }
  if (const auto address = address_of(text)) {
    if (address->size != spec.key_size) return wrong_size("address", address->size, spec.key_size);
    return Buffer(address->bytes.begin(), address->bytes.begin() + static_cast<int64_t>(address->size));
  }
  if (spec.key_size == 4) {
    const auto value = port_key_of(text);
    if (value) return *number_bytes(*value, 4);
    if (text.find('/') != std::string_view::npos) return tl::unexpected(value.error());
  }
  return refuse(
      "the key is not understood",
      "keys are numbers, addresses, PROTOCOL/PORT as in tcp/443 (tcp, udp, dccp, sctp, udplite), or hex: and bytes");
}

Expected<Buffer> value_of(const Object& object, const MapSpec& spec, std::string_view text) {
  if (spec.type == BPF_MAP_TYPE_PROG_ARRAY) {
    const Program* const program = object.find_program(std::string(text));
    if (!program) return refuse("the object has no such program");
    return *number_bytes(static_cast<uint64_t>(program - object.programs.data()), 4);
  }
  if (text.starts_with("hex:")) {
    const auto bytes = hex_bytes(text.substr(4));
    if (!bytes) return refuse("the value behind hex: is not pairs of hexadecimal digits", "as in hex:0aff");
    if (bytes->size() != spec.value_size) return wrong_size("value", bytes->size(), spec.value_size);
    return *bytes;
  }
  const auto value = number(text);
  if (!value) return refuse("the value is no number", "numbers are decimal or begin with 0x; or write hex: and bytes");
  auto bytes = number_bytes(*value, spec.value_size);
  if (!bytes)
    return refuse("the number is no value of " + std::to_string(spec.value_size) + " bytes",
                  "write hex: and all bytes of the value");
  return *bytes;
}

// One entry as text, taken apart.
struct Parts {
  std::string_view map, key, value;
};

std::optional<Parts> split(std::string_view text) {
  const size_t colon = text.find(':');
  const size_t equals = text.rfind('=');
  if (colon == std::string_view::npos || equals == std::string_view::npos || equals < colon) return std::nullopt;
  const Parts parts{trim(text.substr(0, colon)), trim(text.substr(colon + 1, equals - colon - 1)),
                    trim(text.substr(equals + 1))};
  if (parts.map.empty() || parts.key.empty() || parts.value.empty()) return std::nullopt;
  return parts;
}

// Sets entries one after the other; those of LPM tries together, at the end.
class Setter {
 public:
  Setter(const Object& object, Maps& maps) : object_(object), maps_(maps) {}

  Expected<void> add(std::string_view text) {
    const auto parts = split(text);
    if (!parts) return refuse("not \"MAP: KEY = VALUE\"", kHowToWrite);
    Map* const map = maps_.find(parts->map);
    if (!map || map->spec().section != Section::none) return no_map();
    return set(*map, *parts).map_error([map](Refusal refusal) {
      refusal.text = "map " + map->spec().name + ": " + refusal.text;
      return refusal;
    });
  }

  Expected<void> finish() {
    for (const auto& [index, prefixes] : lists_)
      if (const auto set = maps_.replace(index, prefixes); !set) return tl::unexpected(set.error());
    return {};
  }

 private:
  Expected<void> set(Map& map, const Parts& parts) {
    const MapSpec& spec = map.spec();
    auto key = key_of(spec, parts.key);
    if (!key) return tl::unexpected(key.error());
    auto value = value_of(object_, spec, parts.value);
    if (!value) return tl::unexpected(value.error());
    uint32_t number = 0;
    switch (spec.type) {
      case BPF_MAP_TYPE_LPM_TRIE: lists_[map.index()].push_back({std::move(*key), std::move(*value)}); return {};
      case BPF_MAP_TYPE_PROG_ARRAY: {
        int32_t program = 0;
        std::memcpy(&number, key->data(), sizeof number);
        std::memcpy(&program, value->data(), sizeof program);
        return set_program(map, number, program);
      }
      default: return map.set(*key, *value);
    }
  }

  // What stands before the colon may be the beginning of an address.
  tl::unexpected<Refusal> no_map() const {
    std::string names;
    for (const MapSpec& spec : object_.maps)
      if (spec.section == Section::none) names += (names.empty() ? "" : ", ") + spec.name;
    return refuse("it names no map of the object", names.empty() ? "it has none at all" : "it has " + names);
  }

  const Object& object_;
  Maps& maps_;
  std::map<uint32_t, std::vector<Prefix>> lists_;
};

}  // namespace

Expected<void> set_entries(const Object& object, Maps& maps, std::span<const std::string> entries) {
  Setter setter(object, maps);
  for (size_t at = 0; at < entries.size(); ++at) {
    auto set = setter.add(entries[at]);
    if (set) continue;
    set.error().entry = static_cast<int64_t>(at);
    return set;
  }
  return setter.finish();
}

}  // namespace trama::ebpf
