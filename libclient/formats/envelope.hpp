// The envelope that a window travels in: what a manifest says of it, and its matrix, sealed with a checksum.
// docs/formats.md has the format, byte by byte.
//
//   std::vector<uint8_t> out(envelope_bytes(envelope));
//   write_envelope(envelope, out);
//   const auto read = read_envelope(out);   // its texts and its matrix point into `out`
//
// The checksum finds what a network or a disk has damaged. It keeps nobody from making envelopes of his own: that the
// matrix inside is one is for the checked readers of blob.hpp and compact.hpp to find out.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "libclient/formats/error.hpp"
#include "libclient/formats/manifest.hpp"

namespace trama {

inline constexpr std::array<uint8_t, 4> kEnvelopeMagic = {0xD4, 'T', 'E', 'N'};
inline constexpr uint16_t kEnvelopeVersion = 1;
inline constexpr size_t kMostEnvelopeText = 255;  // bytes of each text

// How the matrix is to be read. The three blobs differ in how they are compressed, which a blob says by itself.
enum class EnvelopeEncoding : uint8_t {
  tail = 0,  // no matrix: what arrived after the last window of a run, for the sake of its verdicts
  blob_plain = 1,
  blob_lz4 = 2,
  blob_zstd = 3,
  compact = 4,
};

struct Envelope {
  uint64_t run = 0;             // tells the runs of a publisher apart: window numbers begin anew with each; not 0
  uint64_t seq = 0;             // number of the window in its run
  uint64_t window_packets = 0;  // that a full window has; at least `packets`
  uint64_t packets = 0, links = 0;
  int64_t first_ns = 0, last_ns = 0;  // as in the manifest
  ClosedBy closed_by = ClosedBy::full;
  EnvelopeEncoding encoding = EnvelopeEncoding::tail;
  bool raw_order = false;  // as compact.hpp's
  VerdictCounts verdicts;
  DroppedCounts dropped;
  uint64_t removed_in_kernel = 0;  // by an XDP program; neither seen nor dropped
  // Each up to kMostEnvelopeText bytes, as the sender gave them: not for a terminal as they are.
  std::string_view sensor, stream, graph, anonymization, key, exclusions;
  std::span<const uint8_t> matrix;
};

// Bytes that the envelope takes. At least its matrix and below 2 KiB more.
size_t envelope_bytes(const Envelope& envelope);

// Writes it and returns its length. Does not allocate. 0 if `out` is shorter than envelope_bytes(), or a text is longer
// than kMostEnvelopeText.
size_t write_envelope(const Envelope& envelope, std::span<uint8_t> out) noexcept;

// Reads what may come from anywhere: all of it is checked but the inside of the matrix. Texts and matrix point into
// `bytes`. Errors: not an envelope, of another version, cut, damaged, or contradicting itself.
FormatExpected<Envelope> read_envelope(std::span<const uint8_t> bytes);

// An envelope or a note (stream_note.hpp) of a version that this library doesn't know: whoever sends it will send more.
bool is_of_other_version(std::span<const uint8_t> bytes);

}  // namespace trama
