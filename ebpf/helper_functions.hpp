// The functions behind the table of helpers: what each does stands in bpf_helper_defs.h under its name with bpf_ in
// front.
#pragma once
#include <cstdint>

#include "ebpf/execution.hpp"

namespace trama::ebpf::helper {

uint64_t map_lookup_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t map_update_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t map_delete_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t ktime_get_ns(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t get_prandom_u32(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t get_smp_processor_id(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t xdp_adjust_head(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t xdp_adjust_meta(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t xdp_get_buff_len(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t xdp_load_bytes(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t redirect(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t redirect_map(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t trace_printk(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t perf_event_output(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t ringbuf_output(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t ringbuf_reserve(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t ringbuf_submit(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t ringbuf_discard(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);
uint64_t ringbuf_query(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5, Execution* execution);

}  // namespace trama::ebpf::helper
