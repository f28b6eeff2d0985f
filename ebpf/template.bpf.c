// A filter module to copy: lets through what is in the map `wanted`, by IP protocol number.
//
// XDP_PASS lets a packet go on. What XDP_DROP means stands in TRAMA_DECLARE: TRAMA_FILTERED (not selected) or
// TRAMA_EXCLUDED (kept out for privacy). A packet that can't be judged is dropped, never passed.
#include "trama_filter_bpf.h"

TRAMA_DECLARE(.drop = TRAMA_FILTERED);

// In a graph file: maps = ["wanted: 6 = 1", "wanted: 17 = 1"]
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 256);
  __type(key, __u32);
  __type(value, __u32);
} wanted SEC(".maps");

SEC("xdp")
int template(struct xdp_md* context) {
  const struct trama_packet packet = trama_walk(context);
  const struct iphdr* const v4 = trama_ipv4(&packet);
  const struct ipv6hdr* const v6 = trama_ipv6(&packet);
  __u32 protocol;
  if (v4)
    protocol = v4->protocol;
  else if (v6)
    protocol = v6->nexthdr;
  else
    return trama_done(context, TRAMA_COUNT_UNJUDGED, XDP_DROP);
  const __u32* const keep = bpf_map_lookup_elem(&wanted, &protocol);
  if (keep && *keep) return trama_done(context, TRAMA_COUNT_PASSED, XDP_PASS);
  return trama_done(context, TRAMA_COUNT_DROPPED, XDP_DROP);
}

char _license[] SEC("license") = "GPL";
