// What a PATH of `inspect`, `export` and `verify` stands for.
#pragma once
#include <filesystem>
#include <vector>

#include "libclient/formats/error.hpp"

namespace trama {

// A folder gives its *.tar files in the order of their names (which is the order of time); anything else itself.
// Folders inside are not entered. Error: nothing there, a folder that can't be read or has no archive in it.
FormatExpected<std::vector<std::filesystem::path>> expand_archives(const std::filesystem::path& path);

}  // namespace trama
