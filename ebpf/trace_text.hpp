// What bpf_trace_printk writes: a format in the manner of the kernel, with three arguments.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace trama::ebpf {

constexpr size_t kMaxTraceBytes = 256;  // a longer line is cut

// %d %i %u %x %X %o %c with h, hh, l, ll, width and leading zeros, %p and %%. A %s would read the program's memory: it
// and what isn't known is written as it stands. Returns the length; no trailing newline, no NUL. Doesn't allocate.
size_t trace_text(std::span<char> line, std::string_view format, const std::array<uint64_t, 3>& arguments) noexcept;

}  // namespace trama::ebpf
