// Contents of maps as text, for graph files and the command line: "MAP: KEY = VALUE".
//
//   ranges_v4: 10.0.0.0/8 = 1       LPM trie over IPv4 (keys of 8 bytes) or IPv6 (20)
//   wanted: 6 = 1                   array: the index; hash: a number in host order, of 1, 2, 4 or 8 bytes
//   ports: tcp/443 = 1              4 bytes: TRAMA_PORT_KEY; also `udp` (any port), `47/0`, and `any` for all the rest
//   hosts: 192.0.2.7 = 1            4 bytes, or 16 for IPv6: an address in network order
//   table: hex:00ff10 = hex:0100    any key, any value, as bytes
//   chain: 2 = second               program array: a program of the object
//
// Numbers are decimal, or hexadecimal with 0x. A value goes into every copy of a map per CPU. Of several values for one
// key the last one counts. No message repeats a key or a value: they may be private addresses.
#pragma once
#include <span>
#include <string>

#include "ebpf/error.hpp"
#include "ebpf/map.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

// Sets all entries. An LPM trie is replaced as a whole by the entries for it; other maps keep what else is in them.
Expected<void> set_entries(const Object& object, Maps& maps, std::span<const std::string> entries);

// Fills the maps ranges_v4 and ranges_v6 of a privacy module (ebpf/privacy_ranges.bpf.c) from ranges, each written
// CIDR:SIDE with the side either, both, source or destination. A range inside another one gets the other's sides too,
// since the longest prefix decides alone: so every rule holds, as if each were looked up by itself.
Expected<void> set_ranges(Maps& maps, std::span<const std::string> ranges);

}  // namespace trama::ebpf
