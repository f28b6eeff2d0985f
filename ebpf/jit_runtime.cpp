#include "ebpf/jit_runtime.hpp"

#include <linux/bpf.h>

#include <cstddef>
#include <cstring>

#include "ebpf/helpers.hpp"

namespace trama::ebpf {
namespace {

uint64_t stop(Execution* execution, Fault fault) {
  execution->fault = fault;
  return 0;
}

// A field of the context, through a pointer of which the verifier doesn't know that it is the context.
uint64_t context_field(Execution* execution, uint64_t field) {
  switch (field) {
    case offsetof(xdp_md, data): return execution->data;
    case offsetof(xdp_md, data_end): return execution->data_end;
    case offsetof(xdp_md, data_meta): return execution->data_meta;
    case offsetof(xdp_md, ingress_ifindex): return execution->ingress_ifindex;
    case offsetof(xdp_md, rx_queue_index): return execution->rx_queue_index;
    default: return stop(execution, Fault::bad_access);
  }
}

}  // namespace

uint64_t checked_load(Execution* execution, uint64_t address, uint64_t check) noexcept {
  const auto [bytes, region, atomic] = AccessCheck::unpacked(check);
  if (bytes == 4 && region == Region::any && address - kContextTag < sizeof(xdp_md))
    return context_field(execution, address - kContextTag);
  if (check_access(execution, address, bytes, 0, region) == 0) return stop(execution, Fault::bad_access);
  uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), bytes);
  return value;
}

uint64_t checked_store(Execution* execution, uint64_t address, uint64_t check) noexcept {
  const auto [bytes, region, atomic] = AccessCheck::unpacked(check);
  const uint64_t good =
      atomic ? check_atomic(execution, address, bytes, region) : check_access(execution, address, bytes, 1, region);
  return good != 0 ? good : stop(execution, Fault::bad_access);
}

uint64_t tail_call_target(uint64_t context, uint64_t map_tag, uint64_t index, uint64_t programs, uint64_t,
                          Execution* execution) noexcept {
  constexpr uint64_t kFallThrough = ~uint64_t{0};
  if (context != kContextTag) return stop(execution, Fault::bad_argument), kFallThrough;
  const int64_t program = tail_call(execution, map_tag, index);
  if (program < 0) return kFallThrough;
  if (static_cast<uint64_t>(program) >= programs) return stop(execution, Fault::bad_argument), kFallThrough;
  return static_cast<uint64_t>(program);
}

}  // namespace trama::ebpf
