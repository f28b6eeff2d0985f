// Opens every window of an archive and compares it with what the archive's manifest and the tar rules say.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "libclient/formats/file_bytes.hpp"

namespace trama {

struct VerifyReport {
  std::filesystem::path path;
  bool has_manifest = false;
  size_t windows = 0;                 // that open
  uint64_t packets = 0, links = 0;    // of these
  std::vector<std::string> problems;  // what is wrong, each with the member it is about
  std::vector<std::string> notes;     // what isn't wrong but worth knowing
  bool ok() const { return problems.empty(); }
};

// An archive, or a single blob. With a manifest (`….tar.json` beside it) the archive is ours: plain ustar, members
// 0.grb, 1.grb, … in order, two end blocks, and for each window length, checksum, packets and links as the manifest
// says. Without one (the CAIDA/ILANDS tools write none, and no end blocks) departures from the tar rules are notes.
// Never throws for what is in the file; goes on after a window that doesn't open.
VerifyReport verify_archive(const std::filesystem::path& path, SpecialFiles special = SpecialFiles::allowed);

}  // namespace trama
