// Reads the members of an archive one after the other: ours, those of the CAIDA/ILANDS tools (no manifest, no end
// blocks), and what tar programs make of either (GNU and pax headers, compressed with gzip, bzip2, xz or zstd,
// concatenated, padded with zeros). A single blob file is an archive of one member.
//
// A cut archive gives its whole members and then the error, so that nothing readable is lost.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "libclient/formats/error.hpp"
#include "libclient/formats/file_bytes.hpp"

namespace trama {

// More than any blob (kMaxBlobLinks); what states more isn't read.
inline constexpr uint64_t kMaxMemberBytes = uint64_t{2} << 30;

struct Member {
  std::string name;
  uint64_t offset = 0;  // of its header, in the uncompressed archive
  std::vector<uint8_t> bytes;
};

class ArchiveReader {
 public:
  // Error: can't be opened, is empty, is neither a tar archive nor a blob.
  static FormatExpected<ArchiveReader> open(const std::filesystem::path& path, uint64_t max_bytes = kMaxMemberBytes,
                                            SpecialFiles special = SpecialFiles::allowed);
  ~ArchiveReader();
  ArchiveReader(ArchiveReader&&) noexcept;
  ArchiveReader& operator=(ArchiveReader&&) noexcept;

  // The next file in the archive, whole, into `out` (whose memory is used again); false at the end. Folders are passed
  // over. Whether a member is a blob is for read_blob to say. Memory grows only with the bytes that are really there.
  // Errors name the archive and the member; after one there is nothing more to read.
  FormatExpected<bool> next(Member& out);

 private:
  struct State;
  explicit ArchiveReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trama
