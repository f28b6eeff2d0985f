// What the loader must carry over: constants, variables, functions, a program array with initial slots, source lines.
// clang-format off
#include <linux/bpf.h>  // first: the other needs its types
#include <bpf/bpf_helpers.h>
// clang-format on

struct counter {
  __u64 packets, bytes;
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 4);
  __type(key, __u32);
  __type(value, struct counter);
} counters SEC(".maps");

struct lpm_key {
  __u32 length, address;
};
struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(max_entries, 16);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct lpm_key);
  __type(value, __u32);
} ranges SEC(".maps");

int last(struct xdp_md* context);

struct {
  __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
  __uint(max_entries, 4);
  __uint(key_size, sizeof(__u32));
  __array(values, int(void*));
} chain SEC(".maps") = {.values = {[2] = (void*)&last}};

const volatile __u32 limit = 100;
__u32 verdict_of_short = XDP_DROP;
__u64 seen;

static __attribute__((noinline)) __u64 length_of(struct xdp_md* context) {
  return (void*)(long)context->data_end - (void*)(long)context->data;
}

__attribute__((noinline)) int too_short(struct xdp_md* context) { return length_of(context) < limit; }

static __attribute__((noinline)) void count(__u32 slot, __u64 bytes) {
  struct counter* counter = bpf_map_lookup_elem(&counters, &slot);
  if (!counter) return;
  counter->packets++;
  counter->bytes += bytes;
}

SEC("xdp")
int first(struct xdp_md* context) {
  __sync_fetch_and_add(&seen, 1);
  count(1, length_of(context));
  if (too_short(context)) return verdict_of_short;
  bpf_tail_call(context, &chain, 2);
  return XDP_ABORTED;
}

SEC("xdp")
int last(struct xdp_md* context) {
  count(2, length_of(context));
  return XDP_PASS;
}

SEC("tc")
int not_for_xdp(struct __sk_buff* context) { return context->len > 0; }

char _license[] SEC("license") = "GPL";
