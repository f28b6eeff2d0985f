#include "tests/support/capture_builder.hpp"

#include <algorithm>

namespace trama::test {

PacketBytes patterned(size_t bytes, uint32_t seed) {
  PacketBytes data(bytes);
  uint32_t state = seed * 2654435761u + 1;
  for (uint8_t& byte : data) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return data;
}

NumberWriter& NumberWriter::number(uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    const size_t shift = 8 * (order_ == ByteOrder::little ? i : bytes - 1 - i);
    bytes_.push_back(static_cast<uint8_t>(value >> shift));
  }
  return *this;
}
NumberWriter& NumberWriter::u8(uint8_t value) { return number(value, 1); }
NumberWriter& NumberWriter::u16(uint16_t value) { return number(value, 2); }
NumberWriter& NumberWriter::u32(uint32_t value) { return number(value, 4); }
NumberWriter& NumberWriter::u64(uint64_t value) { return number(value, 8); }
NumberWriter& NumberWriter::raw(std::span<const uint8_t> values) {
  bytes_.insert(bytes_.end(), values.begin(), values.end());
  return *this;
}
NumberWriter& NumberWriter::pad(size_t multiple) {
  while (bytes_.size() % multiple != 0) bytes_.push_back(0);
  return *this;
}

PcapBuilder::PcapBuilder(PcapVariant variant) : variant_(variant), writer_(variant.order) {
  writer_.u32(variant.magic).u16(variant.major).u16(variant.minor).u32(0).u32(0);
  writer_.u32(variant.snap_length).u32(variant.link_word);
}

PcapBuilder& PcapBuilder::packet(const PacketBytes& data, int64_t time_ns, uint32_t original) {
  const auto captured = static_cast<uint32_t>(data.size());
  if (original == 0) original = captured;
  const int64_t unit_ns = variant_.magic == PcapVariant::kNano ? 1 : 1000;
  const int64_t fraction = time_ns % 1'000'000'000 / unit_ns;
  const bool swapped = variant_.minor < 3;  // the lengths, in old versions
  record(static_cast<uint32_t>(time_ns / 1'000'000'000), static_cast<uint32_t>(fraction), swapped ? original : captured,
         swapped ? captured : original, data);
  const int64_t kept_ns = time_ns / 1'000'000'000 * 1'000'000'000 + fraction * unit_ns;
  packets_.push_back({data, kept_ns, original, static_cast<uint16_t>(variant_.link_word)});
  return *this;
}

PcapBuilder& PcapBuilder::record(uint32_t seconds, uint32_t fraction, uint32_t captured, uint32_t original,
                                 std::span<const uint8_t> data) {
  writer_.u32(seconds).u32(fraction).u32(captured).u32(original);
  if (variant_.magic == PcapVariant::kModified) writer_.u32(3).u16(0x0800).u8(1).u8(0);
  return raw(data);
}

PcapBuilder& PcapBuilder::raw(std::span<const uint8_t> values) {
  writer_.raw(values);
  return *this;
}

PcapngBuilder& PcapngBuilder::section(ByteOrder order, uint16_t major, uint16_t minor, uint64_t section_length) {
  writer_.set_order(order);
  interfaces_.clear();
  return block(0x0a0d0d0a, body().u32(0x1a2b3c4d).u16(major).u16(minor).u64(section_length).bytes());
}

PcapngBuilder& PcapngBuilder::interface(PcapngInterface about) {
  interfaces_.push_back(about);
  NumberWriter fields = body();
  fields.u16(about.link_type).u16(0).u32(about.snap_length);
  if (about.comment_bytes != 0) {
    fields.u16(1).u16(static_cast<uint16_t>(about.comment_bytes)).raw(PacketBytes(about.comment_bytes, 'c')).pad(4);
  }
  if (about.resolution) fields.u16(9).u16(1).u8(*about.resolution).pad(4);
  if (about.offset_s) fields.u16(14).u16(8).u64(static_cast<uint64_t>(*about.offset_s));
  if (fields.bytes().size() > 8) fields.u32(0);
  return block(1, fields.bytes());
}

void PcapngBuilder::expect(const PcapngInterface& from, std::optional<uint64_t> units, const PacketBytes& data,
                           uint32_t original) {
  int64_t time_ns = packets_.empty() ? 0 : packets_.back().time_ns;
  if (units) {
    time_ns = static_cast<int64_t>(*units);
    for (int n = from.resolution.value_or(6); n < 9; ++n) time_ns *= 10;
    time_ns += from.offset_s.value_or(0) * 1'000'000'000;
  }
  packets_.push_back({data, time_ns, original, from.link_type});
}

PcapngBuilder& PcapngBuilder::enhanced(uint32_t number, uint64_t units, const PacketBytes& data, uint32_t original,
                                       size_t option_bytes) {
  const auto captured = static_cast<uint32_t>(data.size());
  if (original == 0) original = captured;
  if (number < interfaces_.size()) expect(interfaces_[number], units, data, original);
  NumberWriter fields = body();
  fields.u32(number).u32(static_cast<uint32_t>(units >> 32)).u32(static_cast<uint32_t>(units));
  fields.u32(captured).u32(original).raw(data).pad(4);
  for (size_t left = option_bytes; left > 0;) {
    const size_t bytes = std::min<size_t>(left, 65532);
    fields.u16(1).u16(static_cast<uint16_t>(bytes)).raw(PacketBytes(bytes, 'o')).pad(4);
    left -= bytes;
  }
  return block(6, fields.bytes());
}

PcapngBuilder& PcapngBuilder::obsolete(uint16_t number, uint64_t units, const PacketBytes& data, uint32_t original) {
  const auto captured = static_cast<uint32_t>(data.size());
  if (original == 0) original = captured;
  if (number < interfaces_.size()) expect(interfaces_[number], units, data, original);
  NumberWriter fields = body();
  fields.u16(number).u16(7).u32(static_cast<uint32_t>(units >> 32)).u32(static_cast<uint32_t>(units));
  return block(2, fields.u32(captured).u32(original).raw(data).bytes());
}

PcapngBuilder& PcapngBuilder::simple(const PacketBytes& data, uint32_t original) {
  if (original == 0) original = static_cast<uint32_t>(data.size());
  if (!interfaces_.empty()) expect(interfaces_[0], {}, data, original);
  return block(3, body().u32(original).raw(data).bytes());
}

PcapngBuilder& PcapngBuilder::block(uint32_t type, std::span<const uint8_t> body, std::optional<uint32_t> first,
                                    std::optional<uint32_t> second) {
  const auto length = static_cast<uint32_t>((body.size() + 3) / 4 * 4 + 12);
  writer_.u32(type).u32(first.value_or(length)).raw(body).pad(4).u32(second.value_or(length));
  return *this;
}

PcapngBuilder& PcapngBuilder::raw(std::span<const uint8_t> values) {
  writer_.raw(values);
  return *this;
}

}  // namespace trama::test
