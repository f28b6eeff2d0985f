// Did somebody forget to fill a module's maps?
#pragma once
#include <string>
#include <vector>

#include "ebpf/filter_module.hpp"

namespace trama::ebpf {

// The maps that the module's program looks things up in and never writes, so that only the control plane can fill them
// (arrays, hashes, LPM tries, program arrays), where none of them has anything in it; an array of zeros has nothing.
// Empty as soon as one of them has: which of several are used is the user's choice.
std::vector<std::string> unfilled_maps(const FilterModule& module);

}  // namespace trama::ebpf
