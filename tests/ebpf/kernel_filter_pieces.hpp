// What tests of filters in the kernel share.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "ebpf/filter_module.hpp"

namespace trama::ebpf {

using Chain = std::vector<std::shared_ptr<const FilterModule>>;  // in the order in which they judge

constexpr uint32_t kInside = 0x0A010203, kOutside = 0x0B000001;  // 10.0.0.0/8
constexpr std::chrono::seconds kLimit{20};                       // until something that must happen counts as lost

}  // namespace trama::ebpf
