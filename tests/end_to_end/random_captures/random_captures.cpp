// Writes random captures for the comparison with tshark (tests/end_to_end/test_tshark.py).
//
//   random_captures FOLDER SEED COUNT
//
// FOLDER gets 0000.pcap or 0000.pcapng and so on, and captures.tsv with a line for each: name, bundle, number. A bundle
// is a capture too: it holds the packets of many of these in a row, each behind a marker packet, because tshark takes
// longer to start than to read. A marker has one captured byte, and kMarker plus twice the capture's number of bytes on
// the wire. The last capture of a bundle is often cut somewhere, as its bundle is then.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/end_to_end/random_captures/random_frames.hpp"
#include "tests/support/capture_builder.hpp"

namespace trama::test {
namespace {

constexpr uint32_t kMarker = 200'000;
constexpr size_t kPcapHeaderBytes = 24;

int64_t any_time_ns(Dice& dice) { return static_cast<int64_t>(dice.any() % 4'000'000'000'000'000'000); }

class CaptureMaker {
 public:
  explicit CaptureMaker(Dice& dice) : dice_(dice), frames_(dice) {}

  PacketBytes pcap(const PcapVariant& variant) {
    PcapBuilder file(variant);
    const uint32_t count = packets();
    for (uint32_t i = 0; i < count; ++i) {
      RandomFrame frame = frames_.frame(static_cast<uint16_t>(variant.link_word), variant.order);
      const auto captured = static_cast<uint32_t>(frame.bytes.size());
      // tshark guesses the variant by the first lengths; in version 2.3 the smaller one is the captured one.
      if (i < 10 || variant.minor == 3) frame.original = std::max(frame.original, captured);
      file.packet(frame.bytes, any_time_ns(dice_), frame.original);
    }
    return file.bytes();
  }

  PacketBytes pcapng() {
    PcapngBuilder file;
    begin_section(file);
    for (uint32_t left = packets(); left > 0; --left) {
      if (dice_.one_in(40)) begin_section(file);
      if (dice_.one_in(20)) add_interface(file);
      if (dice_.one_in(15)) add_other_block(file);
      add_packet(file);
    }
    return file.bytes();
  }

 private:
  uint32_t packets() { return dice_.between(20, 200); }

  void begin_section(PcapngBuilder& file) {
    interfaces_.clear();
    order_ = dice_.order();
    file.section(order_, 1, static_cast<uint16_t>(dice_.one_in(5) ? 2 : 0),
                 dice_.one_in(3) ? uint64_t{dice_.number32()} * 4 : ~uint64_t{0});
    for (uint32_t left = dice_.between(1, 5); left > 0; --left) add_interface(file);
  }

  void add_interface(PcapngBuilder& file) {
    PcapngInterface about;
    const auto types = FrameMaker::link_types();
    about.link_type = dice_.one_in(2) ? kEthernetLink : types[dice_.below(static_cast<uint32_t>(types.size()))];
    about.snap_length = dice_.of<uint32_t>({0, 65535, 262144});
    if (dice_.one_in(3)) about.resolution = dice_.of<uint8_t>({0, 3, 6, 9, 12, 0x80 | 10, 0x80 | 32});
    if (dice_.one_in(5)) about.offset_s = int64_t{dice_.below(10'000)};
    if (dice_.one_in(5)) about.comment_bytes = dice_.below(40);
    file.interface(about);
    interfaces_.push_back(about);
  }

  void add_packet(PcapngBuilder& file) {
    // tshark counts the direction twice in simple packets of such a link, and then loses its place.
    const bool simple = dice_.one_in(12) && interfaces_[0].link_type != kPppDirectionLink;
    const uint32_t number = simple ? 0 : dice_.below(static_cast<uint32_t>(interfaces_.size()));
    const RandomFrame frame = frames_.frame(interfaces_[number].link_type, order_);
    const bool long_units = interfaces_[number].resolution.value_or(6) < 6;
    const uint64_t units = dice_.any() >> (long_units ? 34 : 14);  // nanoseconds in 63 bits
    if (simple && frame.original == frame.bytes.size()) {
      file.simple(frame.bytes, frame.original);
    } else if (dice_.one_in(10)) {
      file.obsolete(static_cast<uint16_t>(number), units, frame.bytes, frame.original);
    } else {
      file.enhanced(number, units, frame.bytes, frame.original, dice_.one_in(5) ? 4 * dice_.below(20) : 0);
    }
  }

  void add_other_block(PcapngBuilder& file) {
    switch (dice_.below(3)) {
      case 0: file.block(5, file.body().u32(0).u64(dice_.any() >> 14).bytes()); break;  // statistics
      case 1: file.block(4, file.body().u32(0).bytes()); break;                         // names: none
      default: file.block(0x80000000 | dice_.number32(), dice_.bytes(dice_.below(200))); break;
    }
  }

  Dice& dice_;
  FrameMaker frames_;
  ByteOrder order_ = ByteOrder::little;
  std::vector<PcapngInterface> interfaces_;
};

void write(const std::filesystem::path& path, const PacketBytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.good()) {
    std::fprintf(stderr, "can't write %s\n", path.c_str());
    std::exit(1);
  }
}

class Folder {
 public:
  Folder(std::filesystem::path path, uint64_t seed)
      : path_(std::move(path)), dice_(seed), maker_(dice_), list_(path_ / "captures.tsv") {}

  // Captures of one link type and variant of pcap.
  void pcap_bundle(uint32_t count) {
    PcapVariant variant;
    variant.order = dice_.order();
    variant.magic =
        dice_.of<uint32_t>({PcapVariant::kMicro, PcapVariant::kMicro, PcapVariant::kNano, PcapVariant::kModified});
    // Not 2.2, whose link types are AIX's numbers for tshark.
    if (dice_.one_in(3)) variant.minor = dice_.of<uint16_t>({0, 1, 3});
    variant.snap_length = dice_.of<uint32_t>({0, 65535, 262144, 524288, 0xffffffff});
    const auto types = FrameMaker::link_types();
    variant.link_word = dice_.one_in(3) ? kEthernetLink : types[dice_.below(static_cast<uint32_t>(types.size()))];
    const std::string bundle = "bundle" + std::to_string(bundles_++) + ".pcap";
    PcapBuilder all(variant);
    for (; count > 0; --count) {
      PacketBytes bytes = maker_.pcap(variant);
      if (count == 1) cut(bytes, kPcapHeaderBytes + 200);
      all.packet({0}, 1'000'000'000, kMarker + 2 * captures_);
      all.raw(std::span(bytes).subspan(kPcapHeaderBytes));
      add(bytes, ".pcap", bundle);
    }
    write(path_ / bundle, all.bytes());
  }

  void pcapng_bundle(uint32_t count) {
    const std::string bundle = "bundle" + std::to_string(bundles_++) + ".pcapng";
    PcapngBuilder all;
    for (; count > 0; --count) {
      PacketBytes bytes = maker_.pcapng();
      if (count == 1) cut(bytes, 1000);
      all.section().interface().enhanced(0, 1'000'000, {0}, kMarker + 2 * captures_).raw(bytes);
      add(bytes, ".pcapng", bundle);
    }
    write(path_ / bundle, all.bytes());
  }

 private:
  void cut(PacketBytes& bytes, size_t least) {
    if (dice_.one_in(2) && bytes.size() > least) bytes.resize(bytes.size() - dice_.between(1, 100));
  }

  void add(const PacketBytes& bytes, const char* ending, const std::string& bundle) {
    char name[32];
    std::snprintf(name, sizeof name, "%04u%s", captures_, ending);
    write(path_ / name, bytes);
    list_ << name << '\t' << bundle << '\t' << captures_++ << '\n';
  }

  std::filesystem::path path_;
  Dice dice_;
  CaptureMaker maker_;
  std::ofstream list_;
  uint32_t captures_ = 0, bundles_ = 0;
};

}  // namespace
}  // namespace trama::test

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: random_captures FOLDER SEED COUNT\n");
    return 2;
  }
  trama::test::Folder folder(arguments[1], std::strtoull(arguments[2], nullptr, 10));
  // A third in pcapng, which mixes link types in one capture; pcap bundles of at most 12, so that there are many.
  auto left = static_cast<uint32_t>(std::strtoul(arguments[3], nullptr, 10));
  const uint32_t pcapng = left / 3;
  left -= pcapng;
  for (uint32_t done = 0; done < pcapng; done += 50) folder.pcapng_bundle(std::min(50u, pcapng - done));
  const uint32_t each = left < 200 ? (left + 3) / 4 : 12;
  for (; left > 0; left -= std::min(each, left)) folder.pcap_bundle(std::min(each, left));
  return 0;
}
