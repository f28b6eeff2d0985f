// Keeps packets from or to privacy ranges out.
//
//   ranges_v4, ranges_v6   prefix -> sides (enum trama_side)
//   verdicts               what was passed, dropped, and dropped because it could not be judged
//
// Looks through VLAN tags. Whatever it can't judge is dropped: a header that was cut, more tags than it steps over, and
// all that isn't IP, since other layers (and ARP) carry addresses too.
//
// The longest prefix decides alone. So a range inside another one must have the sides of the outer one as well, which
// `ranges` in a graph file sees to.
#include "trama_filter_bpf.h"

TRAMA_DECLARE(.drop = TRAMA_EXCLUDED);

struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct trama_prefix_v4);
  __type(value, __u32);
} ranges_v4 SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct trama_prefix_v6);
  __type(value, __u32);
} ranges_v6 SEC(".maps");

// The key's length is set: it is the same for both addresses of a packet.
static __always_inline __u32 sides_v4(struct trama_prefix_v4* key, const __be32* address) {
  __builtin_memcpy(key->address, address, sizeof key->address);
  const __u32* const found = bpf_map_lookup_elem(&ranges_v4, key);
  if (!found) return 0;
  __u32 sides = *found;
  TRAMA_KEEP_APART(sides, 4);
  return sides;
}

static __always_inline __u32 sides_v6(struct trama_prefix_v6* key, const struct in6_addr* address) {
  __builtin_memcpy(key->address, address, sizeof key->address);
  const __u32* const found = bpf_map_lookup_elem(&ranges_v6, key);
  if (!found) return 0;
  __u32 sides = *found;
  TRAMA_KEEP_APART(sides, 6);
  return sides;
}

SEC("xdp")
int privacy_ranges(struct xdp_md* context) {
  const struct trama_packet packet = trama_walk(context);
  const struct iphdr* const v4 = trama_ipv4(&packet);
  const struct ipv6hdr* const v6 = trama_ipv6(&packet);
  __u32 source, destination;
  if (v4) {
    struct trama_prefix_v4 key;
    key.length = 32;
    source = sides_v4(&key, &v4->saddr);
    destination = sides_v4(&key, &v4->daddr);
  } else if (v6) {
    struct trama_prefix_v6 key;
    key.length = 128;
    source = sides_v6(&key, &v6->saddr);
    destination = sides_v6(&key, &v6->daddr);
  } else {
    return trama_done(context, TRAMA_COUNT_UNJUDGED, XDP_DROP);
  }
  if ((source & TRAMA_SOURCE) || (destination & TRAMA_DESTINATION) || (source & destination & TRAMA_BOTH))
    return trama_done(context, TRAMA_COUNT_DROPPED, XDP_DROP);
  return trama_done(context, TRAMA_COUNT_PASSED, XDP_PASS);
}

char _license[] SEC("license") = "GPL";
