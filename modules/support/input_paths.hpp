// The inputs that a user named, folders opened up.
#pragma once
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

// A folder becomes its regular files in name order (by bytes, so that it is the same in every locale); links to regular
// files count, hidden files and sub-folders don't. "-", files, FIFOs and devices stay as they are, as often as they are
// named. Fails at the first path that isn't there or can't be listed, and at a folder without a file.
Expected<std::vector<std::string>> expand_inputs(const std::vector<std::string>& paths);

}  // namespace trama
