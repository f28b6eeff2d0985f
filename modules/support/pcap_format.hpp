// The pcap format (draft-ietf-opsawg-pcap): a 24-byte file header, then records, in the byte order of their writer.
//
// Read: microsecond and nanosecond magic, and the "modified" format of Alexey Kuznetzov's libpcap with its 24-byte
// record headers, each in both byte orders; versions 2.0 to 2.4 (before 2.3 the two lengths of a record stand the other
// way round; in 2.3 some writers did so: whichever is smaller is then the captured one). The snap length is not used:
// 0, 524288 and 0xffffffff all occur, and records longer than it do too.
#pragma once
#include "modules/support/capture_format.hpp"

namespace trama {

class PcapFormat final : public CaptureFormat {
 public:
  // Whether `magic`, as loaded in this processor's byte order, is one of the format's.
  static bool knows(uint32_t magic);

  ParseProgress parse(std::span<const uint8_t> bytes, uint64_t position, std::span<Packet> packets) override;

 private:
  enum class Lengths : uint8_t { captured_first, original_first, smaller_is_captured };

  bool read_file_header(const uint8_t* at);
  template <bool kSwapped>
  ParseProgress read_records(std::span<const uint8_t> bytes, size_t begin, uint64_t position,
                             std::span<Packet> packets);

  bool swapped_ = false;
  Lengths lengths_ = Lengths::captured_first;
  uint16_t link_type_ = 0;
  uint32_t record_header_bytes_ = 16;
  uint32_t fraction_ns_ = 1000;  // nanoseconds in one unit of the time's fraction
};

}  // namespace trama
