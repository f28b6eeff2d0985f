// The manifest of an archive (`….tar.json`, format trama-manifest/1) and the journal of one being written
// (`….tar.part.log`): the same header as one object a line, then a line a window as each becomes whole.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libclient/formats/error.hpp"

namespace trama {

// The published verdicts; each packet seen has exactly one.
struct VerdictCounts {
  uint64_t counted = 0, excluded = 0, filtered = 0, ipv6 = 0, not_ip = 0, malformed = 0, cut = 0, unknown_link = 0;
  uint64_t seen() const { return counted + excluded + filtered + ipv6 + not_ip + malformed + cut + unknown_link; }
  VerdictCounts& operator+=(const VerdictCounts& other);
  bool operator==(const VerdictCounts&) const = default;
};

// Lost before the engine saw them; not part of what was seen.
struct DroppedCounts {
  uint64_t kernel = 0, nic = 0, ring = 0;
  bool operator==(const DroppedCounts&) const = default;
};

enum class ClosedBy { full, end, time, key, exclusions, flush };

struct ManifestWindow {
  uint64_t seq = 0;      // runs on across the archives of a run
  std::string member;    // name in the archive
  uint64_t bytes = 0;    // of the blob
  std::string xxh3_128;  // of the blob, 32 hexadecimal digits
  uint64_t packets = 0, links = 0;
  int64_t first_ns = 0, last_ns = 0;  // of the first and last counted packet, since the epoch, UTC
  ClosedBy closed_by = ClosedBy::full;
  std::string key;         // fingerprint; empty without anonymization
  std::string exclusions;  // 16 hexadecimal digits that only the key's holder can check; empty without a list
  VerdictCounts verdicts;  // of everything that arrived while it was being filled
  DroppedCounts dropped;
  bool operator==(const ManifestWindow&) const = default;
};

struct ManifestHeader {
  std::string sensor;
  std::string graph;  // SHA-256 of the canonical graph
  uint64_t window_packets = 0;
  std::string index_order = "numeric";  // or raw
  std::string compression = "lz4";      // or zstd, none
  std::string anonymization;            // crypto-pan-aes128 or none
  bool operator==(const ManifestHeader&) const = default;
};

struct Manifest {
  ManifestHeader header;
  std::vector<ManifestWindow> windows;
  VerdictCounts tail;      // what arrived after the last window of the run
  bool recovered = false;  // made from a journal after the writer was killed: the tail is unknown. Written if true
  bool operator==(const Manifest&) const = default;
};

// Stable order of keys, a line a window, a newline at the end. What isn't UTF-8 becomes U+FFFD.
std::string to_json(const Manifest& manifest);

// Error: not JSON, nested deeper than manifests are, not this format, a key missing or of the wrong kind (it is named).
// Unknown keys are passed over. Throws std::bad_alloc.
FormatExpected<Manifest> parse_manifest(std::string_view text);

// The longest manifest or journal that an archive of so many bytes can have: every window takes two blocks in the
// archive at least (a quarter of that where the archive is compressed), and far less than 2 KiB in the manifest.
uint64_t max_manifest_bytes(uint64_t archive_bytes);

// The manifest beside an archive (`X.tar.json` of `X.tar`); nothing when there is none. Error: it can't be read, or is
// longer than it can be; named.
FormatExpected<std::optional<Manifest>> load_manifest_of(const std::filesystem::path& archive);

// The lines of a journal, each with its newline.
std::string to_journal_header(const ManifestHeader& header);
std::string to_journal_line(const ManifestWindow& window);

// Error: the header line is missing, cut or wrong. Windows end at the first line that is cut or wrong, as a crash
// leaves it: there are no notes about windows after it, and the archive is checked against the ones before.
FormatExpected<Manifest> parse_journal(std::string_view text);

// As `xxh128sum` prints it: XXH3's 128 bits, big-endian, in lower case.
std::string xxh3_128_hex(std::span<const uint8_t> bytes);

}  // namespace trama
