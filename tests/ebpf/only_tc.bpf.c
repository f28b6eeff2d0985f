// An object without an XDP program.
// clang-format off
#include <linux/bpf.h>  // first: the other needs its types
#include <bpf/bpf_helpers.h>
// clang-format on

SEC("tc")
int classifier(struct __sk_buff* context) { return context->len > 0; }
