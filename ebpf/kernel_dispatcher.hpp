// One XDP program made of several: a dispatcher of our own, and behind it the code of every module as a function that
// it calls. Nothing is asked of modules, and nothing of the kernel but calls between functions (since 4.16).
//
//   dispatcher(context):
//     for each module:
//       verdict = count(module, module(context))
//       if verdict doesn't let the packet go on: return XDP_DROP
//     return XDP_PASS, or bpf_redirect_map(socket map, context->rx_queue_index, XDP_PASS)
//   count(module, verdict):
//     if verdict > XDP_REDIRECT: verdict = kOtherVerdict
//     counters[module].packets[verdict]++      a copy for each processor
//     return verdict
//
// Each module's stack counts in full; of the 512 bytes of a chain of calls the dispatcher takes 32.
#pragma once
#include <linux/bpf.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace trama::ebpf {

constexpr size_t kOtherVerdict = XDP_REDIRECT + 1;             // whatever XDP has no name for
constexpr size_t kCountedVerdicts = kOtherVerdict + 1;         // XDP_ABORTED to XDP_REDIRECT, and others
using VerdictCounts = std::array<uint64_t, kCountedVerdicts>;  // the value of the map of counters, by module

struct DispatchedModule {
  std::span<const bpf_insn> code;                // refers to maps by descriptor
  std::array<bool, kCountedVerdicts> goes_on{};  // which verdicts let the packet go on
};

struct Dispatcher {
  std::vector<bpf_insn> code;
  uint32_t count = 0;            // where the function count() begins; 0: without modules there is none
  std::vector<uint32_t> starts;  // of each module's code, ascending, behind count()
};

// `counters`: a per-CPU array with a VerdictCounts for each module. `sockets`: an XSKMAP, or -1.
Dispatcher make_dispatcher(std::span<const DispatchedModule> modules, int counters, int sockets);

}  // namespace trama::ebpf
