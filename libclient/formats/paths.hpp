// What a PATH of `inspect`, `export` and `verify` stands for.
#pragma once
#include <filesystem>
#include <vector>

#include "libclient/formats/error.hpp"
#include "libclient/formats/file_bytes.hpp"

namespace trama {

// A folder gives its *.tar files in the order of their names (which is the order of time); anything else itself.
// Folders inside are not entered; FIFOs and devices inside are passed over, like everything that isn't a file. Error:
// nothing there, a folder that can't be read or has no archive in it.
FormatExpected<std::vector<std::filesystem::path>> expand_archives(const std::filesystem::path& path);

// How one of the archives that `path` stood for is to be opened: by then something else may be in its place.
SpecialFiles special_files(const std::filesystem::path& archive, const std::filesystem::path& path);

}  // namespace trama
