// Counts packets and bytes from and to prefixes; every packet passes.
//
//   prefixes_v4, prefixes_v6   prefix -> index in `counters`
//   counters                   struct trama_prefix_counter
//   verdicts                   what was passed; what no IP header was found in passes too, and counts as unjudged
//
// The longest prefix counts, and only that one.
#include "trama_filter_bpf.h"

TRAMA_DECLARE(.drop = TRAMA_REFUSED);

#define COUNTERS 4096

struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(max_entries, COUNTERS);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct trama_prefix_v4);
  __type(value, __u32);
} prefixes_v4 SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(max_entries, COUNTERS);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct trama_prefix_v6);
  __type(value, __u32);
} prefixes_v6 SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, COUNTERS);
  __type(key, __u32);
  __type(value, struct trama_prefix_counter);
} counters SEC(".maps");

static __always_inline struct trama_prefix_counter* counter_v4(const __be32* address) {
  struct trama_prefix_v4 key = {.length = 32};
  __builtin_memcpy(key.address, address, sizeof key.address);
  const __u32* const index = bpf_map_lookup_elem(&prefixes_v4, &key);
  return index ? bpf_map_lookup_elem(&counters, index) : 0;
}

static __always_inline struct trama_prefix_counter* counter_v6(const struct in6_addr* address) {
  struct trama_prefix_v6 key = {.length = 128};
  __builtin_memcpy(key.address, address, sizeof key.address);
  const __u32* const index = bpf_map_lookup_elem(&prefixes_v6, &key);
  return index ? bpf_map_lookup_elem(&counters, index) : 0;
}

static __always_inline void count(struct trama_prefix_counter* from, struct trama_prefix_counter* to, __u64 bytes) {
  if (from) {
    from->source_packets++;
    from->source_bytes += bytes;
  }
  if (to) {
    to->destination_packets++;
    to->destination_bytes += bytes;
  }
}

SEC("xdp")
int prefix_count(struct xdp_md* context) {
  const struct trama_packet packet = trama_walk(context);
  const struct iphdr* const v4 = trama_ipv4(&packet);
  const struct ipv6hdr* const v6 = trama_ipv6(&packet);
  const __u64 bytes = context->data_end - context->data;
  if (v4)
    count(counter_v4(&v4->saddr), counter_v4(&v4->daddr), bytes);
  else if (v6)
    count(counter_v6(&v6->saddr), counter_v6(&v6->daddr), bytes);
  else
    return trama_done(context, TRAMA_COUNT_UNJUDGED, XDP_PASS);
  return trama_done(context, TRAMA_COUNT_PASSED, XDP_PASS);
}

char _license[] SEC("license") = "GPL";
