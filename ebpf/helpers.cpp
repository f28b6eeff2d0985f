#include "ebpf/helpers.hpp"

#include "ebpf/helper_functions.hpp"

namespace trama::ebpf {
namespace {

using A = Argument;
constexpr HelperInfo kHelpers[] = {
    {.id = BPF_FUNC_map_lookup_elem,
     .name = "bpf_map_lookup_elem",
     .function = helper::map_lookup_elem,
     .arguments = {A::map, A::key},
     .returns = Returns::value_or_null},
    {.id = BPF_FUNC_map_update_elem,
     .name = "bpf_map_update_elem",
     .function = helper::map_update_elem,
     .arguments = {A::map, A::key, A::value, A::scalar},
     .changes_map = true},
    {.id = BPF_FUNC_map_delete_elem,
     .name = "bpf_map_delete_elem",
     .function = helper::map_delete_elem,
     .arguments = {A::map, A::key},
     .changes_map = true},
    {.id = BPF_FUNC_ktime_get_ns,
     .name = "bpf_ktime_get_ns",
     .function = helper::ktime_get_ns,
     .arguments = {},
     .uses_time = true},
    {.id = BPF_FUNC_trace_printk,
     .name = "bpf_trace_printk",
     .function = helper::trace_printk,
     .arguments = {A::memory_read, A::size, A::any, A::any, A::any},
     .emits_events = true},
    {.id = BPF_FUNC_get_prandom_u32,
     .name = "bpf_get_prandom_u32",
     .function = helper::get_prandom_u32,
     .arguments = {},
     .uses_random = true},
    {.id = BPF_FUNC_get_smp_processor_id,
     .name = "bpf_get_smp_processor_id",
     .function = helper::get_smp_processor_id,
     .arguments = {},
     .uses_cpu = true},
    {.id = BPF_FUNC_tail_call,
     .name = "bpf_tail_call",
     .function = nullptr,
     .arguments = {A::context, A::map, A::scalar},
     .returns = Returns::nothing},
    {.id = BPF_FUNC_redirect,
     .name = "bpf_redirect",
     .function = helper::redirect,
     .arguments = {A::scalar, A::scalar},
     .redirects = true},
    {.id = BPF_FUNC_perf_event_output,
     .name = "bpf_perf_event_output",
     .function = helper::perf_event_output,
     .arguments = {A::context, A::map, A::scalar, A::memory_read, A::size},
     .emits_events = true},
    {.id = BPF_FUNC_xdp_adjust_head,
     .name = "bpf_xdp_adjust_head",
     .function = helper::xdp_adjust_head,
     .arguments = {A::context, A::scalar},
     .moves_packet = true},
    {.id = BPF_FUNC_redirect_map,
     .name = "bpf_redirect_map",
     .function = helper::redirect_map,
     .arguments = {A::map, A::scalar, A::scalar},
     .redirects = true},
    {.id = BPF_FUNC_xdp_adjust_meta,
     .name = "bpf_xdp_adjust_meta",
     .function = helper::xdp_adjust_meta,
     .arguments = {A::context, A::scalar},
     .moves_packet = true},
    {.id = BPF_FUNC_ktime_get_boot_ns,
     .name = "bpf_ktime_get_boot_ns",
     .function = helper::ktime_get_ns,
     .arguments = {},
     .uses_time = true},
    {.id = BPF_FUNC_ringbuf_output,
     .name = "bpf_ringbuf_output",
     .function = helper::ringbuf_output,
     .arguments = {A::map, A::memory_read, A::size, A::scalar},
     .emits_events = true},
    {.id = BPF_FUNC_ringbuf_reserve,
     .name = "bpf_ringbuf_reserve",
     .function = helper::ringbuf_reserve,
     .arguments = {A::map, A::constant, A::scalar},
     .returns = Returns::event_or_null,
     .emits_events = true},
    {.id = BPF_FUNC_ringbuf_submit,
     .name = "bpf_ringbuf_submit",
     .function = helper::ringbuf_submit,
     .arguments = {A::event, A::scalar},
     .returns = Returns::nothing,
     .emits_events = true},
    {.id = BPF_FUNC_ringbuf_discard,
     .name = "bpf_ringbuf_discard",
     .function = helper::ringbuf_discard,
     .arguments = {A::event, A::scalar},
     .returns = Returns::nothing,
     .emits_events = true},
    {.id = BPF_FUNC_ringbuf_query,
     .name = "bpf_ringbuf_query",
     .function = helper::ringbuf_query,
     .arguments = {A::map, A::scalar}},
    {.id = BPF_FUNC_ktime_get_coarse_ns,
     .name = "bpf_ktime_get_coarse_ns",
     .function = helper::ktime_get_ns,
     .arguments = {},
     .uses_time = true},
    {.id = BPF_FUNC_xdp_get_buff_len,
     .name = "bpf_xdp_get_buff_len",
     .function = helper::xdp_get_buff_len,
     .arguments = {A::context}},
    {.id = BPF_FUNC_xdp_load_bytes,
     .name = "bpf_xdp_load_bytes",
     .function = helper::xdp_load_bytes,
     .arguments = {A::context, A::scalar, A::memory_write, A::size}},
};

}  // namespace

std::span<const HelperInfo> all_helpers() noexcept { return kHelpers; }

const HelperInfo* find_helper(int32_t id) noexcept {
  static constexpr auto kById = [] {
    std::array<const HelperInfo*, kHelpers[std::size(kHelpers) - 1].id + 1> by_id{};
    for (const HelperInfo& helper : kHelpers) by_id[static_cast<size_t>(helper.id)] = &helper;
    return by_id;
  }();
  return id > 0 && static_cast<size_t>(id) < kById.size() ? kById[static_cast<size_t>(id)] : nullptr;
}

const char* kernel_helper_name(int32_t id) noexcept {
#define TRAMA_HELPER_NAME(name) "bpf_" #name
  static constexpr const char* kNames[] = {__BPF_FUNC_MAPPER(TRAMA_HELPER_NAME)};
#undef TRAMA_HELPER_NAME
  return id > 0 && static_cast<size_t>(id) < std::size(kNames) ? kNames[id] : nullptr;
}

}  // namespace trama::ebpf
