// The names of archives, and the last step of making one: it gets its final name only when everything is on the disk.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "libclient/formats/error.hpp"

namespace trama {

// "20231114-221320-000000.8388608.tar": UTC time of the first packet with microseconds, and window_packets ×
// windows_per_archive. clash = 1 gives "20231114-221320-000000-1.8388608.tar", and so on.
std::string archive_file_name(int64_t first_ns, uint64_t packets, unsigned clash = 0);

// The name that follows when one is taken: "…-uuuuuu.<packets>.tar" → "…-uuuuuu-1.<packets>.tar" → "…-uuuuuu-2…".
std::string next_archive_name(const std::string& file_name);

// True for what a writer calls an archive that it hasn't finished: "YYYYmmdd-HHMMSS-uuuuuu[-N].<packets>.tar.part".
bool is_part_name(std::string_view file_name);

// Renames, and fails with errno EEXIST when there is something at `to`. renameat2(RENAME_NOREPLACE), or a hard link
// where the file system doesn't know that. With `folder`, both are names in that open folder.
bool rename_without_replacing(const std::filesystem::path& from, const std::filesystem::path& to);
bool rename_without_replacing(int folder, const char* from, const char* to);

// Makes the archive `X.tar` of a complete, synced `X.tar.part`: writes and syncs its manifest, gives the manifest its
// name, then the archive, removes the journal `X.tar.part.log` and syncs the folder. Nothing is ever replaced: if X is
// taken the next name is. A crash in between leaves the `.part`, which recovery takes up again. Returns the archive.
// Error: the disk is full or the folder can't be written; the `.part` and its journal are then still there.
FormatExpected<std::filesystem::path> finish_archive(const std::filesystem::path& part, const std::string& manifest);

}  // namespace trama
