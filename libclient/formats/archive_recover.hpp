// Makes an archive of what a killed writer left behind.
#pragma once
#include <cstdint>
#include <filesystem>

#include "libclient/formats/error.hpp"

namespace trama {

struct Recovered {
  std::filesystem::path archive;  // with its manifest beside it; empty if nothing had been written
  bool left_alone = false;        // nothing has been written, but a writer may be about to: all is as it was
  size_t windows = 0;
  uint64_t packets = 0;
  uint64_t cut_bytes = 0;  // of a window that wasn't whole, or that the journal doesn't name
};

// Turns `X.tar.part` and its journal `X.tar.part.log` into `X.tar` and `X.tar.json` (or the next free name): the
// windows that the journal names and that are whole by length and checksum, up to the first that isn't. A window that
// is in the archive but not in the journal is cut off, because nothing is known of its key, time and verdicts. Doing it
// twice, or after a crash while doing it, does no harm. A part without a byte in it is removed, unless it has no
// journal and is so young that its writer may not have come to lock it yet. Error: it isn't named as a writer names it,
// it is being written (its writer holds a lock on it), there is no journal, no window is whole (both files stay), or
// the folder can't be written.
FormatExpected<Recovered> recover_part(const std::filesystem::path& part);

}  // namespace trama
