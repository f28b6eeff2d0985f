// Privacy ranges: address ranges whose packets are kept out of every matrix.
//
// A range is written CIDR[:side], for instance 10.0.0.0/8, 192.0.2.7, 192.0.2.0/24:source or 2001:db8::/32:both. An
// address alone is a range of one. The side says which packets are meant:
//
//   either       source or destination is in the range (the standard)
//   source       the source is
//   destination  the destination is
//   both         both ends are in ranges written with `both`, the same or different ones: with the diagonal matrix R of
//                those addresses, A - R A R is left of a matrix A, so that traffic inside a site goes, and what crosses
//                its border stays
//
// A packet is excluded if any rule says so. IPv6 ranges are kept and belong to the list's text, but match nothing,
// since IPv6 packets reach no matrix.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <tuple>
#include <vector>

#include "engine/diagnostic.hpp"
#include "modules/support/address_flags.hpp"
#include "modules/support/list_file.hpp"

namespace trama {

// Never changes once made: replicas share one, and look up without waiting.
class PrivacyRanges {
 public:
  enum class Side : uint8_t { either, both, source, destination };

  // A range as somebody wrote it, and where.
  struct Entry {
    std::string text;
    Place place;
    // Whether messages may repeat it: what was typed, yes; what a file holds, no, for its addresses are private, and it
    // may be a key that was taken for a list.
    bool may_be_shown = true;
  };

  PrivacyRanges() = default;  // excludes nothing

  // Fails with everything that is wrong, in the order of the entries: bad addresses, lengths and sides; bits set behind
  // the prefix length, with the range that may have been meant (as tcpdump does); IPv4 written as IPv6 (::ffff:0:0/96),
  // which would match nothing. The same range may come more than once. No message holds 32 or more hexadecimal digits
  // in a row of an entry, or anything of one that may not be shown.
  static tl::expected<PrivacyRanges, Diagnostics> parse(const std::vector<Entry>& entries);

  // The ranges of a file (modules/support/list_file.hpp), for parse().
  static Expected<std::vector<Entry>> read_file(const std::string& path, Reading reading = Reading::first);

  // Addresses are numbers: 1.2.3.4 is 0x01020304.
  bool excludes(uint32_t source, uint32_t destination) const noexcept {
    const uint32_t of_source = flags_.find(source), of_destination = flags_.find(destination);
    return ((of_source & kAsSource) | (of_destination & kAsDestination) | (of_source & of_destination & kAsBoth)) != 0;
  }

  // Sets excluded[i], i < n, to 1 where packet i is excluded, and to 0 elsewhere. Returns how many are.
  size_t mark(const uint32_t* source, const uint32_t* destination, size_t n, uint8_t* excluded) const noexcept;

  // Every range once, a line each, as "10.0.0.0/8:either\n": IPv4 before IPv6, sorted by address, length and side (in
  // the order of Side), never merged. The same for the same set of ranges, however and wherever they were written.
  std::string canonical() const;

  size_t size() const { return ranges_.size(); }  // different ranges, of IPv4 and IPv6
  bool empty() const { return ranges_.empty(); }

 private:
  static constexpr uint8_t kAsSource = 1, kAsDestination = 2, kAsBoth = 4;

  // A range as understood. Ordered as canonical() lists them.
  struct Range {
    bool is_ipv6;
    std::array<uint8_t, 16> address;  // in network order; IPv4 in the first four bytes, zeros behind
    uint8_t length;                   // bits
    Side side;
    bool operator==(const Range&) const = default;
    bool operator<(const Range& other) const {
      return std::tie(is_ipv6, address, length, side) <
             std::tie(other.is_ipv6, other.address, other.length, other.side);
    }
  };
  static Expected<Range> parse_range(const Entry& entry);
  static std::string text_of(const Range& range);
  explicit PrivacyRanges(std::vector<Range> ranges);

  std::vector<Range> ranges_;  // sorted, each once
  AddressFlags flags_;
};

}  // namespace trama
