// An object with a CO-RE relocation, which only a kernel can resolve.
// clang-format off
#include <linux/bpf.h>  // first: the other needs its types
#include <bpf/bpf_helpers.h>
// clang-format on

struct task_struct {
  int pid;
} __attribute__((preserve_access_index));

SEC("xdp")
int relocated(struct xdp_md* context) {
  struct task_struct* task = (void*)(long)context->data;
  if ((void*)(task + 1) > (void*)(long)context->data_end) return XDP_DROP;
  return task->pid;
}
