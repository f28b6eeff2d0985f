// Windows in envelopes, for the tests of streams.
#pragma once
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "libclient/formats/blob.hpp"
#include "libclient/formats/compact.hpp"
#include "libclient/formats/envelope.hpp"
#include "tests/libclient/matrices.hpp"

namespace trama::test {

inline constexpr EnvelopeEncoding kWindowEncodings[] = {EnvelopeEncoding::blob_plain, EnvelopeEncoding::blob_lz4,
                                                        EnvelopeEncoding::blob_zstd, EnvelopeEncoding::compact};

inline std::vector<uint8_t> serialized(const HyperCsr& matrix, EnvelopeEncoding encoding) {
  std::vector<uint8_t> bytes;
  if (encoding == EnvelopeEncoding::compact) {
    bytes.resize(compact_bound(matrix.links()));
    bytes.resize(write_compact(matrix, false, bytes));
  } else {
    const auto compression = static_cast<Compression>(static_cast<int>(encoding) - 1);
    BlobWriter writer(matrix.links(), compression);
    bytes.resize(writer.bound());
    bytes.resize(writer.write(matrix, bytes));
  }
  return bytes;
}

// A window of a random matrix and everything that an envelope says of it.
struct SampleWindow {
  WindowArrays arrays;
  std::vector<uint8_t> bytes;
  Envelope envelope;  // points into the others
};

inline std::unique_ptr<SampleWindow> sample_window(uint64_t seq, size_t packets = 50,
                                                   EnvelopeEncoding encoding = EnvelopeEncoding::blob_lz4,
                                                   uint64_t run = 77) {
  std::mt19937_64 random(seq);
  auto sample = std::make_unique<SampleWindow>();
  sample->arrays = random_window(random, packets, Traffic::skewed);
  sample->bytes = serialized(sample->arrays.view(), encoding);
  Envelope& envelope = sample->envelope;
  envelope.run = run;
  envelope.seq = seq;
  envelope.window_packets = packets;
  envelope.packets = envelope.verdicts.counted = packets;
  envelope.links = sample->arrays.column.size();
  envelope.first_ns = 1'700'000'000'000'000'000 + static_cast<int64_t>(seq) * 1'000'000;
  envelope.last_ns = envelope.first_ns + 999'999;
  envelope.encoding = encoding;
  envelope.verdicts.ipv6 = seq + 1;
  envelope.dropped.ring = 3;
  envelope.removed_in_kernel = 4;
  envelope.sensor = "roof";
  envelope.stream = "site";
  envelope.graph = "feed";
  envelope.anonymization = "crypto-pan-aes128";
  envelope.key = "0123456789abcdef";
  envelope.exclusions = "none";
  envelope.matrix = sample->bytes;
  return sample;
}

// A block of the heap that ends where the envelope does.
inline std::vector<uint8_t> enveloped(const Envelope& envelope) {
  std::vector<uint8_t> out(envelope_bytes(envelope));
  out.resize(write_envelope(envelope, out));
  out.shrink_to_fit();
  return out;
}

}  // namespace trama::test
