// Capture files for tests, in memory, in every variant of pcap and pcapng, right and wrong:
//
//   PcapngBuilder file;
//   file.section().interface({.link_type = 101}).enhanced(0, 1'000'000, payload);
//   use(file.bytes(), file.packets());   // the file, and what a reader has to find in it
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tests/support/packet_builder.hpp"

namespace trama::test {

struct BuiltPacket {
  PacketBytes data;
  int64_t time_ns = 0;
  uint32_t original = 0;
  uint16_t link_type = 0;
  bool operator==(const BuiltPacket&) const = default;
};

// `bytes` bytes that are different from packet to packet and from place to place.
PacketBytes patterned(size_t bytes, uint32_t seed);

// Appends numbers in one byte order.
class NumberWriter {
 public:
  explicit NumberWriter(ByteOrder order = ByteOrder::little) : order_(order) {}
  NumberWriter& u8(uint8_t value);
  NumberWriter& u16(uint16_t value);
  NumberWriter& u32(uint32_t value);
  NumberWriter& u64(uint64_t value);
  NumberWriter& raw(std::span<const uint8_t> values);
  NumberWriter& pad(size_t multiple);
  const PacketBytes& bytes() const { return bytes_; }
  ByteOrder order() const { return order_; }
  void set_order(ByteOrder order) { order_ = order; }

 private:
  NumberWriter& number(uint64_t value, size_t bytes);
  ByteOrder order_;
  PacketBytes bytes_;
};

struct PcapVariant {
  static constexpr uint32_t kMicro = 0xa1b2c3d4, kNano = 0xa1b23c4d, kModified = 0xa1b2cd34;
  ByteOrder order = ByteOrder::little;
  uint32_t magic = kMicro;
  uint16_t major = 2, minor = 4;
  uint32_t snap_length = 65535;
  uint32_t link_word = 1;  // link type, and flags in the upper half
};

class PcapBuilder {
 public:
  explicit PcapBuilder(PcapVariant variant = {});
  // `original` 0: as many as `data` has.
  PcapBuilder& packet(const PacketBytes& data, int64_t time_ns, uint32_t original = 0);
  // A record with any numbers, as they stand in the file; not among packets().
  PcapBuilder& record(uint32_t seconds, uint32_t fraction, uint32_t captured, uint32_t original,
                      std::span<const uint8_t> data);
  PcapBuilder& raw(std::span<const uint8_t> values);
  const PacketBytes& bytes() const { return writer_.bytes(); }
  const std::vector<BuiltPacket>& packets() const { return packets_; }

 private:
  PcapVariant variant_;
  NumberWriter writer_;
  std::vector<BuiltPacket> packets_;
};

struct PcapngInterface {
  uint16_t link_type = 1;
  uint32_t snap_length = 0;
  std::optional<uint8_t> resolution = {};  // if_tsresol; packets() understands 0 to 9
  std::optional<int64_t> offset_s = {};    // if_tsoffset
  size_t comment_bytes = 0;                // of an option before the others
};

class PcapngBuilder {
 public:
  PcapngBuilder& section(ByteOrder order = ByteOrder::little, uint16_t major = 1, uint16_t minor = 0,
                         uint64_t section_length = ~uint64_t{0});
  PcapngBuilder& interface(PcapngInterface about = {});
  PcapngBuilder& enhanced(uint32_t number, uint64_t units, const PacketBytes& data, uint32_t original = 0,
                          size_t option_bytes = 0);
  PcapngBuilder& obsolete(uint16_t number, uint64_t units, const PacketBytes& data, uint32_t original = 0);
  // `data` is what is left of the packet at interface 0's snap length.
  PcapngBuilder& simple(const PacketBytes& data, uint32_t original = 0);
  // Any block; body padded to 4 bytes. `first` and `second` stand for its two lengths when they are to be wrong.
  PcapngBuilder& block(uint32_t type, std::span<const uint8_t> body, std::optional<uint32_t> first = {},
                       std::optional<uint32_t> second = {});
  PcapngBuilder& raw(std::span<const uint8_t> values);
  // A writer for a body, in the byte order of the section.
  NumberWriter body() const { return NumberWriter(writer_.order()); }
  const PacketBytes& bytes() const { return writer_.bytes(); }
  const std::vector<BuiltPacket>& packets() const { return packets_; }

 private:
  void expect(const PcapngInterface& from, std::optional<uint64_t> units, const PacketBytes& data, uint32_t original);
  NumberWriter writer_;
  std::vector<PcapngInterface> interfaces_;
  std::vector<BuiltPacket> packets_;
};

}  // namespace trama::test
