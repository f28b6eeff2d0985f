// Links an object file with libbpf. To be run in a process of its own: hostile objects crash libbpf.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "ebpf/error.hpp"
#include "ebpf/object.hpp"

namespace trama::ebpf {

Expected<Object> link_object(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace trama::ebpf
