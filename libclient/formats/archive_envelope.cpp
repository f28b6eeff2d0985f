#include "libclient/formats/archive_envelope.hpp"

namespace trama {
namespace {

EnvelopeEncoding encoding_of(const std::string& compression) {
  if (compression == "lz4") return EnvelopeEncoding::blob_lz4;
  return compression == "zstd" ? EnvelopeEncoding::blob_zstd : EnvelopeEncoding::blob_plain;
}

}  // namespace

Envelope envelope_of(const ManifestHeader& header, const ManifestWindow& window) {
  Envelope envelope;
  envelope.seq = window.seq;
  envelope.window_packets = header.window_packets;
  envelope.packets = window.packets;
  envelope.links = window.links;
  envelope.first_ns = window.first_ns;
  envelope.last_ns = window.last_ns;
  envelope.closed_by = window.closed_by;
  envelope.encoding = encoding_of(header.compression);
  envelope.raw_order = header.index_order == "raw";
  envelope.verdicts = window.verdicts;
  envelope.dropped = window.dropped;
  envelope.sensor = header.sensor;
  envelope.graph = header.graph;
  envelope.anonymization = header.anonymization;
  envelope.key = window.key;
  envelope.exclusions = window.exclusions;
  return envelope;
}

}  // namespace trama
