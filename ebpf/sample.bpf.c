// Keeps one flow in N, whole: both directions of a connection have the same hash.
//
//   one_in     entry 0: N. Until it is set nothing is judged (XDP_ABORTED), so that no run is sampled by mistake.
//   verdicts   what was kept, left out, and left out because it could not be judged
//
// A flow is the pair of addresses and the protocol; ports don't count, since fragments lack them. The hash is a fixed
// one (the finalizer of MurmurHash3, public domain), so that every run keeps the same flows.
#include "trama_filter_bpf.h"

TRAMA_DECLARE(.drop = TRAMA_FILTERED);

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} one_in SEC(".maps");

static __always_inline __u64 mixed(__u64 value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  return value ^ value >> 33;
}

static __always_inline __u64 hash_v6(const struct in6_addr* address) {
  const __u32* const words = address->in6_u.u6_addr32;
  return mixed(mixed((__u64)words[0] << 32 | words[1]) ^ ((__u64)words[2] << 32 | words[3]));
}

SEC("xdp")
int sample(struct xdp_md* context) {
  const __u32 entry = 0;
  const __u32* const n = bpf_map_lookup_elem(&one_in, &entry);
  if (!n || *n == 0) return XDP_ABORTED;
  const struct trama_packet packet = trama_walk(context);
  const struct iphdr* const v4 = trama_ipv4(&packet);
  const struct ipv6hdr* const v6 = trama_ipv6(&packet);
  // A sum doesn't tell source from destination.
  __u64 hash;
  if (v4)
    hash = mixed(mixed(v4->saddr) + mixed(v4->daddr) + v4->protocol);
  else if (v6)
    hash = mixed(hash_v6(&v6->saddr) + hash_v6(&v6->daddr) + v6->nexthdr);
  else
    return trama_done(context, TRAMA_COUNT_UNJUDGED, XDP_DROP);
  if ((__u32)(hash >> 32) % *n == 0) return trama_done(context, TRAMA_COUNT_PASSED, XDP_PASS);
  return trama_done(context, TRAMA_COUNT_DROPPED, XDP_DROP);
}

char _license[] SEC("license") = "GPL";
