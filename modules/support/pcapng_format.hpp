// The pcapng format (draft-ietf-opsawg-pcapng): a sequence of blocks, each with its length before and behind it.
//
// Read: any number of sections, each in its own byte order; interfaces with their own link types, snap lengths, time
// resolutions (10^-n and 2^-n) and time offsets; enhanced, simple and obsolete packet blocks. Every other block, custom
// ones too, is skipped and is not a packet. Section lengths are not used, for many writers leave them out or wrong.
// A simple packet block has no time: its packet gets the time of the packet before it (0 if there is none).
//
// Where a block's two lengths differ the file is corrupt and the block's packet is not described, unless the block is
// longer than kMaxNeed: then its packet has gone out before its end is seen.
#pragma once
#include <vector>

#include "modules/support/capture_format.hpp"
#include "modules/support/pcapng_clock.hpp"

namespace trama {

class PcapngFormat final : public CaptureFormat {
 public:
  static constexpr uint32_t kSectionHeader = 0x0a0d0d0a;  // a block type, the same in both byte orders
  // The most interfaces of one section; a file with more is refused, for nothing real has them.
  static constexpr size_t kMaxInterfaces = 65536;

  ParseProgress parse(std::span<const uint8_t> bytes, uint64_t position, std::span<Packet> packets) override;

 private:
  struct Interface {
    PcapngClock clock;
    uint32_t snap_length = 0;  // 0: no limit
    uint16_t link_type = 0;
  };
  struct Block {
    const uint8_t* data;  // from its type on
    uint64_t at;          // offset in the content
    uint32_t type;
    uint32_t length;  // with both lengths
  };
  static size_t wanted_bytes(const Block& block);
  bool begin_block(std::span<const uint8_t> rest, uint64_t at, ParseProgress& progress, Block& block);
  bool end_block(std::span<const uint8_t> rest, ParseProgress& progress);
  template <bool kSwapped>
  void read_plain_packets(std::span<const uint8_t> bytes, std::span<Packet> packets, ParseProgress& progress);
  bool read_block(std::span<const uint8_t> rest, uint64_t at, std::span<Packet> packets, ParseProgress& progress);
  bool take(const Block& block, std::span<Packet> packets, ParseProgress& progress);
  bool start_section(const uint8_t* at, uint64_t position);
  bool add_interface(const Block& block);
  bool read_interface_options(const Block& block, Interface& interface);
  bool describe(const Block& block, Packet& packet);
  const Interface* find_interface(const Block& block, uint32_t number);
  bool length_is_possible(const Block& block);
  bool lengths_agree(const uint8_t* second, uint64_t at, uint32_t length);

  std::vector<Interface> interfaces_;  // of the section being read
  int64_t last_time_ns_ = 0;
  uint64_t block_at_ = 0;      // the block whose second length is awaited
  uint32_t block_length_ = 0;  // its first length; 0: none is awaited
  bool swapped_ = false;
};

}  // namespace trama
