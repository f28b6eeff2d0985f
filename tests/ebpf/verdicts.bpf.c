// Programs without a declaration, each with one habit that whoever runs modules must cope with.
#include "ebpf/trama_filter_bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} seen SEC(".maps");

SEC("xdp")
int drops(struct xdp_md* context) { return trama_done(context, TRAMA_COUNT_DROPPED, XDP_DROP); }

SEC("xdp")
int aborts(struct xdp_md* context) { return trama_done(context, TRAMA_COUNT_DROPPED, XDP_ABORTED); }

SEC("xdp")
int sends_back(struct xdp_md* context) { return trama_done(context, TRAMA_COUNT_DROPPED, XDP_TX); }

SEC("xdp")
int redirects(struct xdp_md* context) { return bpf_redirect(context->ingress_ifindex, 0); }

// No kernel would take it.
SEC("xdp")
int never_ends(struct xdp_md* context) {
  for (__u64 i = 0;; ++i)
    if (trama_done(context, TRAMA_COUNT_PASSED, XDP_PASS) == XDP_ABORTED) return XDP_PASS;
}

// Drops a packet whose IPv4 source it finds changed, which is what it does to every packet: to a copy, if all is well.
SEC("xdp")
int writes(struct xdp_md* context) {
  const struct trama_packet packet = trama_walk(context);
  struct iphdr* const v4 = (struct iphdr*)trama_ipv4(&packet);
  if (!v4) return XDP_ABORTED;
  if (v4->saddr == 0xffffffff) return XDP_DROP;
  v4->saddr = 0xffffffff;
  return XDP_PASS;
}

// Lets every other packet through: only in one order is that the same every time.
SEC("xdp")
int every_other(struct xdp_md* context) {
  (void)context;
  const __u32 entry = 0;
  __u64* const count = bpf_map_lookup_elem(&seen, &entry);
  if (!count) return XDP_ABORTED;
  return ++*count % 2 ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "GPL";
