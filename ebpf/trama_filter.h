// What a filter module and user space agree on: what its verdicts mean, what it has counted, and the keys of its maps.
// Included by programs for the kernel (C) and by C++; every structure has the same layout in both.
#pragma once
#include <linux/types.h>

// --- What a module's XDP verdicts mean. XDP_PASS: the packet goes on. XDP_ABORTED, and every fault: it is excluded.

#define TRAMA_DECLARATION_VERSION 1

enum trama_meaning {
  TRAMA_REFUSED = 0,   // the module doesn't use this verdict: where it does, that is a fault
  TRAMA_EXCLUDED = 1,  // kept out for privacy
  TRAMA_FILTERED = 2,  // not selected
  TRAMA_PASSED = 3,    // goes on, as with XDP_PASS
};

// Stands alone in the section .rodata.trama, where user space reads it without running anything.
struct trama_declaration {
  __u32 version;
  __u8 drop, tx, redirect;  // enum trama_meaning
  __u8 reserved;            // 0
};

// --- What a module has counted: the map `verdicts`, a per-CPU array of TRAMA_VERDICTS entries.

enum trama_verdict {
  TRAMA_COUNT_PASSED = 0,
  TRAMA_COUNT_DROPPED = 1,
  TRAMA_COUNT_UNJUDGED = 2,  // dropped, because the module could not see what it is
  TRAMA_VERDICTS = 3,
};

struct trama_counter {
  __u64 packets, bytes;  // bytes as captured, from the first byte of the Ethernet header
};

// --- Keys of longest-prefix maps. The address in network order, as it stands in the packet.

struct trama_prefix_v4 {
  __u32 length;  // bits, 0 to 32
  __u8 address[4];
};

struct trama_prefix_v6 {
  __u32 length;  // bits, 0 to 128
  __u8 address[16];
};

// Values of privacy ranges, together where one range has several. A packet is excluded if its source is in a range with
// TRAMA_SOURCE, its destination in one with TRAMA_DESTINATION, or both are in ranges with TRAMA_BOTH.
enum trama_side {
  TRAMA_SOURCE = 1,
  TRAMA_DESTINATION = 2,
  TRAMA_BOTH = 4,
  TRAMA_EITHER = 3,
};

// Keys of the map `ports`: a number in host order. Port 0: any. Protocol 0 and port 0: whatever no other entry names.
#define TRAMA_PORT_KEY(protocol, port) ((__u32)(protocol) << 16 | (__u32)(port))

// Values of the map `prefixes_*` of the per-prefix counter are indices in its map `counters`.
struct trama_prefix_counter {
  __u64 source_packets, source_bytes;            // from the prefix
  __u64 destination_packets, destination_bytes;  // to it
};

#ifdef __cplusplus
#define TRAMA_SAME_LAYOUT(type, size) static_assert(sizeof(type) == (size), #type)
#else
#define TRAMA_SAME_LAYOUT(type, size) _Static_assert(sizeof(type) == (size), #type)
#endif
TRAMA_SAME_LAYOUT(struct trama_declaration, 8);
TRAMA_SAME_LAYOUT(struct trama_counter, 16);
TRAMA_SAME_LAYOUT(struct trama_prefix_v4, 8);
TRAMA_SAME_LAYOUT(struct trama_prefix_v6, 20);
TRAMA_SAME_LAYOUT(struct trama_prefix_counter, 32);
