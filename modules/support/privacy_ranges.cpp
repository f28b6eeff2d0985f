#include "modules/support/privacy_ranges.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

namespace trama {
namespace {

constexpr std::array<std::string_view, 4> kSideNames = {"either", "both", "source", "destination"};  // in Side's order

bool printable(char c) { return c > ' ' && c <= '~'; }

bool has_key(std::string_view text) {
  constexpr size_t kKeyDigits = 32;
  size_t digits = 0;
  for (const char c : text) {
    digits = std::isxdigit(static_cast<unsigned char>(c)) != 0 ? digits + 1 : 0;
    if (digits == kKeyDigits) return true;
  }
  return false;
}

// For messages: what was typed must not reach a terminal as it is.
std::string quoted(std::string_view text) {
  constexpr size_t kMost = 64;
  std::string result(1, '"');
  result.append(text.substr(0, kMost)).append(text.size() > kMost ? "...\"" : "\"");
  std::replace_if(
      result.begin(), result.end(), [](char c) { return !printable(c) && c != ' '; }, '?');
  return result;
}

// ADDRESS[/LENGTH][:SIDE], where an IPv6 address has colons of its own.
struct Parts {
  std::string_view address, length, side;
  bool has_length = false, has_side = false;
};

Parts split(std::string_view text) {
  const size_t slash = text.find('/');
  size_t colon = std::string_view::npos;
  if (slash != std::string_view::npos) {
    colon = text.find(':', slash);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    colon = text.find(':');
  } else if (const size_t last = text.rfind(':'); last != std::string_view::npos) {
    // IPv6 without a length: every side has a letter that is no hexadecimal digit.
    const bool is_word = text.find_first_not_of("0123456789abcdefABCDEF.", last + 1) != std::string_view::npos;
    if (is_word) colon = last;
  }
  Parts parts;
  parts.has_side = colon != std::string_view::npos;
  if (parts.has_side) parts.side = text.substr(colon + 1);
  const std::string_view range = text.substr(0, colon);
  parts.has_length = slash != std::string_view::npos;
  if (parts.has_length) parts.length = range.substr(slash + 1);
  parts.address = range.substr(0, slash);
  return parts;
}

using Address = std::array<uint8_t, 16>;

Address network_of(const Address& address, uint32_t length) {
  Address network{};
  for (uint32_t i = 0; i < network.size() && 8 * i < length; ++i) {
    const uint32_t bits = std::min(length - 8 * i, 8u);
    network[i] = static_cast<uint8_t>(address[i] & 0xff << (8 - bits));
  }
  return network;
}

std::string address_text(const Address& address, bool is_ipv6) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(is_ipv6 ? AF_INET6 : AF_INET, address.data(), text.data(), text.size());
  return text.data();
}

// The family, or AF_UNSPEC: it is no address.
int read_address(std::string_view text, Address& address) {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size()) return AF_UNSPEC;
  std::copy(text.begin(), text.end(), terminated.begin());
  for (const int family : {AF_INET, AF_INET6})
    if (inet_pton(family, terminated.data(), address.data()) == 1) return family;
  return AF_UNSPEC;
}

// The address of an IPv4-mapped IPv6 range (::ffff:0:0/96, RFC 4291), or nothing.
std::string mapped_ipv4(const Address& address, uint32_t length) {
  constexpr Address kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (length < 96 || network_of(address, 96) != kPrefix) return "";
  Address inner{};
  std::copy_n(address.begin() + 12, 4, inner.begin());
  return address_text(inner, false);
}

// 0 .. most, in plain decimal; -1 for anything else.
int parse_length(std::string_view text, int most) {
  int length = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const bool plain = error == std::errc() && end == text.data() + text.size() && text[0] != '-';
  const bool leading_zero = text.size() > 1 && text[0] == '0';
  return plain && !leading_zero && length <= most ? length : -1;
}

}  // namespace

std::string PrivacyRanges::text_of(const Range& range) {
  return address_text(range.address, range.is_ipv6) + "/" + std::to_string(range.length) + ":" +
         std::string(kSideNames[static_cast<size_t>(range.side)]);
}

Expected<PrivacyRanges::Range> PrivacyRanges::parse_range(const Entry& entry) {
  const std::string_view text = trimmed(entry.text);
  const auto shown = [&] { return entry.may_be_shown && !has_key(text); };
  const auto refuse = [&](std::string_view what, std::string hint) {
    return failure("privacy range " + (shown() ? quoted(text) + " " : std::string()) + std::string(what),
                   std::move(hint), entry.place);
  };
  if (text.empty()) return refuse("is empty", "write an address or a CIDR, as in 10.0.0.0/8");
  if (text.find_first_of(" \t") != std::string_view::npos)
    return refuse("has blanks in it", "write each range by itself, on a line of its own in a file");
  if (!std::all_of(text.begin(), text.end(), printable)) return refuse("has characters that no range has", "");

  const Parts parts = split(text);
  Range range{};
  const int family = read_address(parts.address, range.address);
  range.is_ipv6 = family == AF_INET6;
  if (family == AF_UNSPEC)
    return refuse("does not begin with an address", "write all of the address, as in 10.0.0.0/8 or 2001:db8::/32");

  const int most = range.is_ipv6 ? 128 : 32;
  const int length = parts.has_length ? parse_length(parts.length, most) : most;
  if (length < 0)
    return refuse("has no prefix length from 0 to " + std::to_string(most),
                  "write the number of fixed bits behind the slash, as in 10.0.0.0/8; no mask");
  range.length = static_cast<uint8_t>(length);

  const auto* side = std::find(kSideNames.begin(), kSideNames.end(), parts.has_side ? parts.side : kSideNames[0]);
  if (side == kSideNames.end())
    return refuse("names an unknown side", "the sides are :either, :both, :source and :destination");
  range.side = static_cast<Side>(side - kSideNames.begin());

  if (const std::string inner = range.is_ipv6 ? mapped_ipv4(range.address, range.length) : ""; !inner.empty())
    return refuse("is IPv4 written as IPv6",
                  "write " + (shown() ? inner : "the IPv4 address") + "/" + std::to_string(length - 96));
  const Address network = network_of(range.address, range.length);
  if (network != range.address)
    return refuse("has bits set behind its first " + std::to_string(length),
                  shown() ? "write " + address_text(network, range.is_ipv6) + "/" + std::to_string(length) +
                                " for the network, or " + address_text(range.address, range.is_ipv6) +
                                " for the one address"
                          : "write zeros there for the network, or no length for the one address");
  return range;
}

tl::expected<PrivacyRanges, Diagnostics> PrivacyRanges::parse(const std::vector<Entry>& entries) {
  std::vector<Range> ranges;
  ranges.reserve(entries.size());
  Diagnostics errors;
  for (const Entry& entry : entries) {
    if (Expected<Range> range = parse_range(entry)) {
      ranges.push_back(*range);
    } else {
      errors.push_back(std::move(range.error()));
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return PrivacyRanges(std::move(ranges));
}

PrivacyRanges::PrivacyRanges(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
  std::sort(ranges_.begin(), ranges_.end());
  ranges_.erase(std::unique(ranges_.begin(), ranges_.end()), ranges_.end());
  constexpr std::array<uint8_t, 4> kFlagsOfSide = {kAsSource | kAsDestination, kAsBoth, kAsSource, kAsDestination};
  std::vector<AddressFlags::Range> flagged;
  flagged.reserve(ranges_.size());
  for (const Range& range : ranges_) {
    if (range.is_ipv6) continue;
    uint32_t first = 0;
    for (size_t i = 0; i < 4; ++i) first = first << 8 | range.address[i];
    const auto others = static_cast<uint32_t>((uint64_t{1} << (32 - range.length)) - 1);
    flagged.push_back({first, first | others, kFlagsOfSide[static_cast<size_t>(range.side)]});
  }
  flags_ = AddressFlags(flagged);
}

Expected<std::vector<PrivacyRanges::Entry>> PrivacyRanges::read_file(const std::string& path, Reading reading) {
  auto lines = read_list_file(path, reading,
                              {"privacy ranges", "range", "if nothing is to be excluded, write `none` on a line"});
  if (!lines) return tl::unexpected(std::move(lines.error()));
  std::vector<Entry> entries;
  for (ListLine& line : *lines) entries.push_back({std::move(line.text), std::move(line.place), false});
  return entries;
}

size_t PrivacyRanges::mark(const uint32_t* source, const uint32_t* destination, size_t n,
                           uint8_t* excluded) const noexcept {
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) {
    excluded[i] = excludes(source[i], destination[i]);
    count += excluded[i];
  }
  return count;
}

std::string PrivacyRanges::canonical() const {
  std::string text;
  for (const Range& range : ranges_) text += text_of(range) + "\n";
  return text;
}

}  // namespace trama
