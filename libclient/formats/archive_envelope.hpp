// A window of an archive as an envelope tells of it.
#pragma once
#include "libclient/formats/envelope.hpp"
#include "libclient/formats/manifest.hpp"

namespace trama {

// What a manifest says of a window; its texts point into both. Without what archives don't know (run, stream, packets
// removed in the kernel), and without the matrix.
Envelope envelope_of(const ManifestHeader& header, const ManifestWindow& window);

}  // namespace trama
