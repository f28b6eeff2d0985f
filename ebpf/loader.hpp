// Reads an XDP object file and links it, without the kernel and without privileges.
//
// libbpf does the work, in the mode in which it writes a loader program instead of calling the kernel. Damaged or
// hostile objects crash libbpf, so it runs in a child process with limits on memory and time, and what the child sends
// back is checked like anything that comes from outside. A child that dies is a refusal. Nothing is printed: what
// libbpf had to say ends up in the refusal's text.
//
// Refused with the reason: what is no ELF file for BPF; objects without an XDP program; CO-RE relocations and kernel
// symbols or configuration, which exist only in a kernel; maps of types that ebpf/map.hpp doesn't have.
//
// Forks: call it from setup and control threads, never on the way of packets.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "ebpf/error.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

constexpr uint64_t kMaxObjectBytes = 16u << 20;

Expected<Object> load_object(const std::string& path);

// The same, from the bytes of an object file. The name is for messages.
Expected<Object> load_object(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace trama::ebpf
