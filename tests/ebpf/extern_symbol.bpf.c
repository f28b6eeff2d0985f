// An object that needs a kernel's configuration.
// clang-format off
#include <linux/bpf.h>  // first: the other needs its types
#include <bpf/bpf_helpers.h>
// clang-format on

extern int LINUX_KERNEL_VERSION __kconfig;

SEC("xdp")
int versioned(struct xdp_md* context) {
  (void)context;
  return LINUX_KERNEL_VERSION > 0 ? XDP_PASS : XDP_DROP;
}
