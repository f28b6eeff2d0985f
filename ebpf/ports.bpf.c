// Selects packets by protocol and port.
//
//   ports      TRAMA_PORT_KEY(protocol, port) -> 1: keep, 0: leave out
//   verdicts   what was kept, left out, and left out because it could not be judged
//
// The first entry that is there decides: protocol and source port, protocol and destination port, protocol and any
// port, anything. Without such an entry a packet is left out, so that an empty map keeps nothing.
//
// Ports are those of TCP, UDP, UDP-Lite, DCCP and SCTP. Later fragments have none, and of IPv6 only what stands right
// behind the fixed header is looked at: there the protocol, or anything, must be named.
#include "trama_filter_bpf.h"

TRAMA_DECLARE(.drop = TRAMA_FILTERED);

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, __u32);
  __type(value, __u32);
} ports SEC(".maps");

struct ports_header {
  __be16 source, destination;
};

static __always_inline int has_ports(__u8 protocol) {
  return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_UDPLITE ||
         protocol == IPPROTO_DCCP || protocol == IPPROTO_SCTP;
}

static __always_inline const __u32* decision(__u32 protocol, __u32 port) {
  const __u32 key = TRAMA_PORT_KEY(protocol, port);
  return bpf_map_lookup_elem(&ports, &key);
}

SEC("xdp")
int by_port(struct xdp_md* context) {
  const struct trama_packet packet = trama_walk(context);
  const struct iphdr* const v4 = trama_ipv4(&packet);
  const struct ipv6hdr* const v6 = trama_ipv6(&packet);
  const struct ports_header* header;
  __u32 protocol;
  int first_fragment = 1;
  if (v4) {
    header = (const void*)v4 + v4->ihl * 4;
    protocol = v4->protocol;
    first_fragment = (v4->frag_off & bpf_htons(0x1fff)) == 0;
  } else if (v6) {
    header = (const void*)(v6 + 1);
    protocol = v6->nexthdr;
  } else {
    return trama_done(context, TRAMA_COUNT_UNJUDGED, XDP_DROP);
  }
  const __u32* keep = 0;
  if (first_fragment && has_ports(protocol)) {
    if ((const void*)(header + 1) > packet.end) return trama_done(context, TRAMA_COUNT_UNJUDGED, XDP_DROP);
    keep = decision(protocol, bpf_ntohs(header->source));
    if (!keep) keep = decision(protocol, bpf_ntohs(header->destination));
  }
  if (!keep) keep = decision(protocol, 0);
  if (!keep) keep = decision(0, 0);
  if (keep && *keep) return trama_done(context, TRAMA_COUNT_PASSED, XDP_PASS);
  return trama_done(context, TRAMA_COUNT_DROPPED, XDP_DROP);
}

char _license[] SEC("license") = "GPL";
