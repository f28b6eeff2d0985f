// A window as a subscriber gets it: what is known of it, and its matrix.
//
//   for (size_t i = 0; i < window.matrix().rows(); ++i) ...   // arrays; matrix.hpp says how they lie
//
// libclient/graphblas_matrix.hpp makes a GrB_Matrix of it.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libclient/formats/compact.hpp"
#include "libclient/formats/envelope.hpp"
#include "libclient/formats/error.hpp"
#include "libclient/formats/manifest.hpp"
#include "libclient/formats/matrix.hpp"

namespace trama {

// What stands beside a matrix: in its envelope, or in the manifest of its archive. Texts are as the sender gave them.
struct WindowInfo {
  uint64_t run = 0;  // tells the runs of a publisher apart; 0 from archives
  uint64_t seq = 0;  // number in its run
  uint64_t window_packets = 0;
  uint64_t packets = 0, links = 0;
  int64_t first_ns = 0, last_ns = 0;  // ns since the epoch, UTC
  ClosedBy closed_by = ClosedBy::full;
  EnvelopeEncoding encoding = EnvelopeEncoding::tail;
  bool raw_order = false;
  VerdictCounts verdicts;
  DroppedCounts dropped;
  uint64_t removed_in_kernel = 0;
  std::string sensor, stream, graph, anonymization, key, exclusions;
};

WindowInfo window_info(const Envelope& envelope);

// Bytes with whoever keeps them in memory.
struct SharedBytes {
  std::shared_ptr<const void> owner;
  std::span<const uint8_t> bytes;
};

// Owns all of it; can be moved.
class StreamWindow {
 public:
  // Decodes a matrix that may come from anywhere, without GraphBLAS: memory is taken for at most `info.links` links,
  // and for no more than max_links. Error: damaged, or not what `info` says of it.
  static FormatExpected<StreamWindow> decode(WindowInfo info, SharedBytes serialized, uint64_t max_links);

  const WindowInfo& info() const { return info_; }
  // Rows are sources, columns destinations. Valid as long as the window.
  const HyperCsr& matrix() const { return matrix_; }
  // The matrix as it came, in info().encoding.
  std::span<const uint8_t> serialized() const { return serialized_.bytes; }

  // Windows of the stream that were lost right before this one, since the window before it or since the place where
  // this subscriber wanted to begin. Told once.
  uint64_t missed = 0;
  // The first window of another run than the window before it: numbers began anew.
  bool restarted = false;

 private:
  StreamWindow() = default;
  // Both give the packets that the matrix has.
  FormatExpected<uint64_t> decode_blob(uint64_t max_links);
  FormatExpected<uint64_t> decode_compact(uint64_t max_links);

  WindowInfo info_;
  SharedBytes serialized_;
  CompactReader compact_{0};                            // has the arrays of a compact matrix
  std::vector<uint32_t> row_, start_, column_, count_;  // those of a blob
  HyperCsr matrix_;                                     // views of either
};

}  // namespace trama
