// An object with a map of a type that isn't supported.
// clang-format off
#include <linux/bpf.h>  // first: the other needs its types
#include <bpf/bpf_helpers.h>
// clang-format on

struct {
  __uint(type, BPF_MAP_TYPE_STACK_TRACE);
  __uint(max_entries, 4);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(__u64));
} traces SEC(".maps");

SEC("xdp")
int program(struct xdp_md* context) { return bpf_map_lookup_elem(&traces, &context) ? XDP_PASS : XDP_DROP; }
